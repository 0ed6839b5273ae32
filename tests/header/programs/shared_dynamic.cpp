// Dynamic shared memory: extern __shared__ and dynamic_shared<T>(), launch_config and <<<, , bytes>>>.
#include <offloadc/offload.h>

#include <numeric>
#include <vector>

#include "check.h"

extern __shared__ double scratch[];

__global__ void reverse_extern(double *p) {
  scratch[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

__global__ void reverse_own(double *p) {
  double *s = offloadc::dynamic_shared<double>();
  s[threadIdx.x] = p[threadIdx.x];
  offloadc::barrier();
  p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

int main() {
  std::vector<double> v(64);
  std::iota(v.begin(), v.end(), 0.0);
  const std::vector<double> reversed(v.rbegin(), v.rend());
  offloadc::buffer<double> p(v);
  reverse_extern<<<1, 64, 64 * sizeof(double)>>>(p);
  EXPECT(p.to_vector() == reversed);
  offloadc::launch(reverse_own, offloadc::launch_config{1, 64, 64 * sizeof(double)}, p);
  EXPECT(p.to_vector() == v);
  offloadc::queue q;
  reverse_own<<<1, 64, 64 * sizeof(double), q>>>(p);
  offloadc::launch(reverse_extern, offloadc::launch_config{1, 64, 64 * sizeof(double), q}, p);
  q.synchronize();
  EXPECT(p.to_vector() == v);
  return passed();
}
