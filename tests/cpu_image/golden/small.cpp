// The input of the goldens: a little of all that the edits meet. `make bless` compiles it anew.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
extern "C" __device__ __attribute__((const)) unsigned __offloadc_cpu_thread_id_x(void);
extern "C" __device__ int printf(const char *, ...);

struct alignas(32) Wide { float v[8]; };
__device__ int counter = 1;
__device__ int *address = &counter;

inline __device__ float helper(float x) { return x + 1; }

extern "C" __global__ void sum(Wide wide, bool yes, float *out) {
  __shared__ float a[32], b[32];
  extern __shared__ double dynamic[];
  float *both[2] = {a, b + 1};
  unsigned t = __offloadc_cpu_thread_id_x();
  both[yes][t] = helper(wide.v[t % 8]);
  __syncthreads();
  for (int i = 0; i < 8; i++) out[t] += b[i];
  dynamic[2] = __nvvm_read_ptx_sreg_ntid_y();
  __scoped_atomic_fetch_add(address, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_thread_fence(__ATOMIC_SEQ_CST, __MEMORY_SCOPE_WRKGRP);
  printf("%d\n", 1);
  asm volatile("" ::: "memory");
}
