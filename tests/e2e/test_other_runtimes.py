"""A CUDA runtime in the same process: neither it nor its users meet our launch functions."""

from __future__ import annotations

from tests.e2e.conftest import Box

# Stands for libcudart: defines the names that clang's host stubs would call.
CUDART = """\
#include <stdio.h>
typedef struct { unsigned x, y, z; } dim3;
unsigned __cudaPushCallConfiguration(dim3 g, dim3 b, unsigned long s, void *q) { puts("cudart push"); return 0; }
int __cudaPopCallConfiguration(dim3 *g, dim3 *b, unsigned long *s, void *q) { puts("cudart pop"); return 0; }
int cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, unsigned long s, void *q) {
  puts("cudart launch");
  return 0;
}
"""
# Stands for a CUDA library that launches kernels through libcudart.
LIBRARY = """\
typedef struct { unsigned x, y, z; } dim3;
int cudaLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
void library(void) { dim3 one = {1, 1, 1}; cudaLaunchKernel(0, one, one, 0, 0, 0); }
"""
PROGRAM = """\
#include <offloadc/offload.h>
#include <cstdio>
extern "C" void library();
__global__ void k(int *p) { p[0] = 7; }
int main() {
  offloadc::buffer<int> b(1);
  k<<<1, 1>>>(b.data());
  std::printf("%d\\n", b.to_vector()[0]);
  std::fflush(stdout);
  library();
}
"""


def test_each_launches_through_its_own_runtime(box: Box) -> None:
    box.write("cudart.c", CUDART)
    box.write("library.c", LIBRARY)
    box.write("k.cpp", PROGRAM)
    box.build("-shared", "-fPIC", "cudart.c", "-o", "libcudart.so", "--offload-host-only")
    box.build(
        "-shared", "-fPIC", "library.c", "-L.", "-lcudart", "-o", "liblibrary.so", "--offload-host-only"
    )
    link = ("-L.", "-llibrary", "-lcudart", "-Wl,-rpath,$ORIGIN", "-rdynamic")
    box.build("-O1", "--offload-arch=x86-64", "k.cpp", *link, "-o", "k")
    assert box.run("k") == "7\ncudart launch\n"
    defined = box.tool("llvm-nm", "-j", "--defined-only", "k").split()
    assert not {"cudaLaunchKernel", "__cudaPushCallConfiguration", "__cudaPopCallConfiguration"} & set(
        defined
    )
    exported = box.tool("llvm-nm", "-D", "-j", "--defined-only", "k").split()
    assert [n for n in exported if n.startswith(("offloadc_", "__offloadc_"))] == []
