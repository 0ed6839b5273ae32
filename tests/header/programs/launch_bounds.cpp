// Launch bounds, also depending on template parameters; inlining attributes; unrolling.
#include <offloadc/offload.h>

#include "check.h"

__device__ __noinline__ int slow(int x) { return x + 1; }
__device__ __forceinline__ int fast(int x) { return x * 2; }

__global__ __launch_bounds__(128) void bounded(int *p) { p[threadIdx.x] = fast(slow(static_cast<int>(threadIdx.x))); }
template <int Threads>
__global__ void __launch_bounds__(Threads, 2) bounded_template(const int *__restrict in, int *__restrict out) {
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += in[(static_cast<int>(threadIdx.x) + i) % Threads];
  out[threadIdx.x] = sum;
}

int main() {
  offloadc::buffer<int> p(128), q(128);
  offloadc::launch(bounded, 1, 128, p);
  offloadc::launch(bounded_template<128>, 1, 128, p, q);
  const auto v = q.to_vector();
  for (int i = 0; i < 124; ++i) EXPECT(v[static_cast<std::size_t>(i)] == 2 * (4 * i + 6 + 4));
  return passed();
}
