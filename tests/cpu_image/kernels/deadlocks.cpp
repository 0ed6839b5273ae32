// Kernels that no GPU would finish either.
#include <offloadc/offload.h>

extern "C" __global__ void half_at_barrier(char *) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __offloadc_cpu_warp_ballot(0xffffffff, 1);
}

extern "C" __global__ void wrong_mask(char *) {
  __offloadc_cpu_warp_exchange_u32(threadIdx.x % 2 ? 0xffffffff : 0x55555555, 1, 0);
  __syncthreads();
}

extern "C" __global__ void endless_stack(char *out) {
  volatile char frame[1 << 20];
  for (int i = (1 << 20) - 64; i >= 0; i -= 64) frame[i] = 1;
  __syncthreads();
  *out = frame[64];
}
int main() {}
