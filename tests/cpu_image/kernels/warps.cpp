// Warp operations, through the engine's functions, CUDA's names and NVVM's builtins.
#include <offloadc/offload.h>

extern "C" __global__ void shuffles(const int *in, int *out, int n) {
  unsigned t = threadIdx.x;
  int v = in[t];
  out[0 * n + t] = __nvvm_shfl_sync_idx_i32(-1, v, 5, 31);
  out[1 * n + t] = __nvvm_shfl_sync_up_i32(-1, v, 3, 0);
  out[2 * n + t] = __nvvm_shfl_sync_down_i32(-1, v, 2, 31);
  out[3 * n + t] = __nvvm_shfl_sync_bfly_i32(-1, v, 1, 31);
  // segments of 8 lanes
  out[4 * n + t] = __nvvm_shfl_sync_idx_i32(-1, v, 2, 0x181f);
  out[5 * n + t] = static_cast<int>(__nvvm_shfl_sync_bfly_f32(-1, v * 0.5f, 2, 31) * 2);
}

extern "C" __global__ void votes(const int *in, unsigned *out, int n) {
  unsigned t = threadIdx.x;
  out[0 * n + t] = __nvvm_vote_ballot_sync(-1, in[t] > 5);
  out[1 * n + t] = __nvvm_vote_any_sync(-1, in[t] == 9);
  out[2 * n + t] = __nvvm_vote_all_sync(-1, in[t] < 100);
  out[3 * n + t] = __nvvm_vote_uni_sync(-1, in[t] > 5);
  out[4 * n + t] = __nvvm_read_ptx_sreg_laneid();
  out[5 * n + t] = __nvvm_read_ptx_sreg_warpsize();
}

// Odd lanes leave; the others still meet.
extern "C" __global__ void some_left(unsigned long long *out) {
  if (threadIdx.x % 2) return;
  out[threadIdx.x] = __offloadc_cpu_warp_ballot(0xffffffff, 1);
}

// Half of the warp works by itself between barriers of the block.
extern "C" __global__ void half(unsigned *out) {
  unsigned t = threadIdx.x, got = 0;
  if (t % 32 < 16) got = __offloadc_cpu_warp_exchange_u32(0xffff, t, (t + 1) % 16);
  __syncthreads();
  out[t] = got;
}

extern "C" __global__ void wide(unsigned long long *out) {
  unsigned long long t = threadIdx.x;
  out[t] = __offloadc_cpu_warp_exchange_u64(0xffffffff, t << 40 | t, 31 - t % 32);
}

template <class T> __device__ T lanes_sum(T v) {
  for (unsigned d = 16; d; d /= 2) {
    T other = __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 + d < (blockDim.x - threadIdx.x / 32 * 32 < 32 ? blockDim.x % 32 : 32)) v += other;
  }
  return v;
}
extern "C" __global__ void warp_sums(const double *in, double *out) {
  double sum = lanes_sum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}
int main() {}
