; ModuleID = 'small.cpp'
source_filename = "small.cpp"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Wide = type { [8 x float] }
%printf_args = type { i32 }

$_Z6helperf = comdat any

@counter = dso_local addrspace(1) externally_initialized global i32 1, align 4
@address = dso_local addrspace(1) externally_initialized global ptr addrspacecast (ptr addrspace(1) @counter to ptr), align 8
@_ZZ3sumE1a = internal addrspace(3) global [32 x float] undef, align 4
@_ZZ3sumE1b = internal addrspace(3) global [32 x float] undef, align 4
@__const.sum.both = private unnamed_addr constant [2 x ptr] [ptr addrspacecast (ptr addrspace(3) @_ZZ3sumE1a to ptr), ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(3) @_ZZ3sumE1b to ptr), i64 4)], align 8
@dynamic = external dso_local addrspace(3) global [0 x double], align 8
@.str = private unnamed_addr constant [4 x i8] c"%d\0A\00", align 1
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @counter to ptr), ptr addrspacecast (ptr addrspace(1) @address to ptr)], section "llvm.metadata"

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @sum(ptr noundef byval(%struct.Wide) align 32 %0, i1 noundef zeroext %1, ptr noundef %2) #0 !dbg !12 {
  %4 = alloca i8, align 1
  %5 = alloca ptr, align 8
  %6 = alloca [2 x ptr], align 8
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca %printf_args, align 8
  %12 = zext i1 %1 to i8
  store i8 %12, ptr %4, align 1, !tbaa !16
  store ptr %2, ptr %5, align 8, !tbaa !18
  call void @llvm.lifetime.start.p0(ptr %6) #7, !dbg !21
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %6, ptr align 8 @__const.sum.both, i64 16, i1 false), !dbg !22
  call void @llvm.lifetime.start.p0(ptr %7) #7, !dbg !23
  %13 = call i32 @__offloadc_cpu_thread_id_x() #8, !dbg !24
  store i32 %13, ptr %7, align 4, !dbg !25, !tbaa !8
  %14 = getelementptr inbounds nuw %struct.Wide, ptr %0, i32 0, i32 0, !dbg !26
  %15 = load i32, ptr %7, align 4, !dbg !27, !tbaa !8
  %16 = urem i32 %15, 8, !dbg !28
  %17 = zext i32 %16 to i64, !dbg !29
  %18 = getelementptr inbounds nuw [8 x float], ptr %14, i64 0, i64 %17, !dbg !29
  %19 = load float, ptr %18, align 4, !dbg !29, !tbaa !30
  %20 = call contract noundef float @_Z6helperf(float noundef %19) #9, !dbg !32
  %21 = load i8, ptr %4, align 1, !dbg !33, !tbaa !16, !range !34, !noundef !15
  %22 = trunc i8 %21 to i1, !dbg !33
  %23 = zext i1 %22 to i64, !dbg !35
  %24 = getelementptr inbounds nuw [2 x ptr], ptr %6, i64 0, i64 %23, !dbg !35
  %25 = load ptr, ptr %24, align 8, !dbg !35, !tbaa !18
  %26 = load i32, ptr %7, align 4, !dbg !36, !tbaa !8
  %27 = zext i32 %26 to i64, !dbg !35
  %28 = getelementptr inbounds nuw float, ptr %25, i64 %27, !dbg !35
  store float %20, ptr %28, align 4, !dbg !37, !tbaa !30
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !38
  call void @llvm.lifetime.start.p0(ptr %8) #7, !dbg !39
  store i32 0, ptr %8, align 4, !dbg !40, !tbaa !8
  br label %29, !dbg !39

29:                                               ; preds = %44, %3
  %30 = load i32, ptr %8, align 4, !dbg !41, !tbaa !8
  %31 = icmp slt i32 %30, 8, !dbg !42
  br i1 %31, label %33, label %32, !dbg !43

32:                                               ; preds = %29
  call void @llvm.lifetime.end.p0(ptr %8) #7, !dbg !43
  br label %47

33:                                               ; preds = %29
  %34 = load i32, ptr %8, align 4, !dbg !44, !tbaa !8
  %35 = sext i32 %34 to i64, !dbg !45
  %36 = getelementptr inbounds [32 x float], ptr addrspacecast (ptr addrspace(3) @_ZZ3sumE1b to ptr), i64 0, i64 %35, !dbg !45
  %37 = load float, ptr %36, align 4, !dbg !45, !tbaa !30
  %38 = load ptr, ptr %5, align 8, !dbg !46, !tbaa !18
  %39 = load i32, ptr %7, align 4, !dbg !47, !tbaa !8
  %40 = zext i32 %39 to i64, !dbg !46
  %41 = getelementptr inbounds nuw float, ptr %38, i64 %40, !dbg !46
  %42 = load float, ptr %41, align 4, !dbg !48, !tbaa !30
  %43 = fadd contract float %42, %37, !dbg !48
  store float %43, ptr %41, align 4, !dbg !48, !tbaa !30
  br label %44, !dbg !46

44:                                               ; preds = %33
  %45 = load i32, ptr %8, align 4, !dbg !49, !tbaa !8
  %46 = add nsw i32 %45, 1, !dbg !49
  store i32 %46, ptr %8, align 4, !dbg !49, !tbaa !8
  br label %29, !dbg !43, !llvm.loop !50

47:                                               ; preds = %32
  %48 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y(), !dbg !53
  %49 = sitofp i32 %48 to double, !dbg !53
  store double %49, ptr getelementptr inbounds ([0 x double], ptr addrspacecast (ptr addrspace(3) @dynamic to ptr), i64 0, i64 2), align 8, !dbg !54, !tbaa !55
  %50 = load ptr, ptr addrspacecast (ptr addrspace(1) @address to ptr), align 8, !dbg !57, !tbaa !58
  store i32 1, ptr %9, align 4, !dbg !60, !tbaa !8
  %51 = load i32, ptr %9, align 4, !dbg !60
  %52 = atomicrmw add ptr %50, i32 %51 monotonic, align 4, !dbg !60
  store i32 %52, ptr %10, align 4, !dbg !60
  %53 = load i32, ptr %10, align 4, !dbg !60, !tbaa !8
  fence seq_cst, !dbg !61
  %54 = getelementptr inbounds nuw %printf_args, ptr %11, i32 0, i32 0, !dbg !62
  store i32 1, ptr %54, align 4, !dbg !62
  %55 = call i32 @vprintf(ptr @.str, ptr %11), !dbg !62
  call void asm sideeffect "", "~{memory}"() #9, !dbg !63, !srcloc !64
  call void @llvm.lifetime.end.p0(ptr %7) #7, !dbg !65
  call void @llvm.lifetime.end.p0(ptr %6) #7, !dbg !65
  ret void, !dbg !65
}

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly captures(none), ptr noalias readonly captures(none), i64, i1 immarg) #2

; Function Attrs: convergent nounwind willreturn memory(none)
declare dso_local i32 @__offloadc_cpu_thread_id_x() #3

; Function Attrs: convergent inlinehint mustprogress nounwind
define linkonce_odr dso_local noundef float @_Z6helperf(float noundef %0) #4 comdat !dbg !66 {
  %2 = alloca float, align 4
  store float %0, ptr %2, align 4, !tbaa !30
  %3 = load float, ptr %2, align 4, !dbg !67, !tbaa !30
  %4 = fadd contract float %3, 1.000000e+00, !dbg !68
  ret float %4, !dbg !69
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #5

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.y() #6

declare i32 @vprintf(ptr, ptr)

attributes #0 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_70" "target-features"="+ptx70,+sm_70" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #3 = { convergent nounwind willreturn memory(none) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_70" "target-features"="+ptx70,+sm_70" }
attributes #4 = { convergent inlinehint mustprogress nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_70" "target-features"="+ptx70,+sm_70" }
attributes #5 = { convergent nocallback nounwind }
attributes #6 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #7 = { nounwind }
attributes #8 = { convergent nounwind willreturn memory(none) }
attributes #9 = { convergent nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5, !6}
!llvm.ident = !{!7}
!llvm.errno.tbaa = !{!8}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "clang version 22", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "./small.cpp", directory: ".")
!2 = !{i32 7, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!6 = !{i32 7, !"frame-pointer", i32 2}
!7 = !{!"clang version 22"}
!8 = !{!9, !9, i64 0}
!9 = !{!"int", !10, i64 0}
!10 = !{!"omnipotent char", !11, i64 0}
!11 = !{!"Simple C++ TBAA"}
!12 = distinct !DISubprogram(name: "sum", scope: !13, file: !13, line: 14, type: !14, scopeLine: 14, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!13 = !DIFile(filename: "./small.cpp", directory: ".")
!14 = !DISubroutineType(types: !15)
!15 = !{}
!16 = !{!17, !17, i64 0}
!17 = !{!"bool", !10, i64 0}
!18 = !{!19, !19, i64 0}
!19 = !{!"p1 float", !20, i64 0}
!20 = !{!"any pointer", !10, i64 0}
!21 = !DILocation(line: 17, column: 3, scope: !12)
!22 = !DILocation(line: 17, column: 10, scope: !12)
!23 = !DILocation(line: 18, column: 3, scope: !12)
!24 = !DILocation(line: 18, column: 16, scope: !12)
!25 = !DILocation(line: 18, column: 12, scope: !12)
!26 = !DILocation(line: 19, column: 30, scope: !12)
!27 = !DILocation(line: 19, column: 32, scope: !12)
!28 = !DILocation(line: 19, column: 34, scope: !12)
!29 = !DILocation(line: 19, column: 25, scope: !12)
!30 = !{!31, !31, i64 0}
!31 = !{!"float", !10, i64 0}
!32 = !DILocation(line: 19, column: 18, scope: !12)
!33 = !DILocation(line: 19, column: 8, scope: !12)
!34 = !{i8 0, i8 2}
!35 = !DILocation(line: 19, column: 3, scope: !12)
!36 = !DILocation(line: 19, column: 13, scope: !12)
!37 = !DILocation(line: 19, column: 16, scope: !12)
!38 = !DILocation(line: 20, column: 3, scope: !12)
!39 = !DILocation(line: 21, column: 8, scope: !12)
!40 = !DILocation(line: 21, column: 12, scope: !12)
!41 = !DILocation(line: 21, column: 19, scope: !12)
!42 = !DILocation(line: 21, column: 21, scope: !12)
!43 = !DILocation(line: 21, column: 3, scope: !12)
!44 = !DILocation(line: 21, column: 43, scope: !12)
!45 = !DILocation(line: 21, column: 41, scope: !12)
!46 = !DILocation(line: 21, column: 31, scope: !12)
!47 = !DILocation(line: 21, column: 35, scope: !12)
!48 = !DILocation(line: 21, column: 38, scope: !12)
!49 = !DILocation(line: 21, column: 27, scope: !12)
!50 = distinct !{!50, !43, !51, !52}
!51 = !DILocation(line: 21, column: 44, scope: !12)
!52 = !{!"llvm.loop.mustprogress"}
!53 = !DILocation(line: 22, column: 16, scope: !12)
!54 = !DILocation(line: 22, column: 14, scope: !12)
!55 = !{!56, !56, i64 0}
!56 = !{!"double", !10, i64 0}
!57 = !DILocation(line: 23, column: 29, scope: !12)
!58 = !{!59, !59, i64 0}
!59 = !{!"p1 int", !20, i64 0}
!60 = !DILocation(line: 23, column: 3, scope: !12)
!61 = !DILocation(line: 24, column: 3, scope: !12)
!62 = !DILocation(line: 25, column: 3, scope: !12)
!63 = !DILocation(line: 26, column: 3, scope: !12)
!64 = !{i64 1090}
!65 = !DILocation(line: 27, column: 1, scope: !12)
!66 = distinct !DISubprogram(name: "helper", scope: !13, file: !13, line: 12, type: !14, scopeLine: 12, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!67 = !DILocation(line: 12, column: 50, scope: !66)
!68 = !DILocation(line: 12, column: 52, scope: !66)
!69 = !DILocation(line: 12, column: 43, scope: !66)
