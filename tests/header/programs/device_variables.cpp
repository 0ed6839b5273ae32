// __constant__ tables and __device__ variables, defined once for all kernels of a unit.
#include <offloadc/offload.h>

#include "check.h"

__constant__ double coefficients[4] = {1, 10, 100, 1000};
__device__ int counter = 5;
static __device__ float hidden[2] = {0.5f, 0.25f};
constexpr int constants[] = {3, 1, 4, 1, 5};

__global__ void count(int n) {
  if (offloadc::global_id() < static_cast<std::size_t>(n)) atomicAdd(&counter, 1);
}
__global__ void read(double *out) {
  out[0] = counter;
  out[1] = coefficients[threadIdx.x + 2] + hidden[threadIdx.x + 1];
  out[2] = constants[threadIdx.x + 4];
}

int main() {
  offloadc::buffer<double> out(3);
  offloadc::launch(count, 2, 32, 40);
  offloadc::launch(read, 1, 1, out);
  const auto v = out.to_vector();
  EXPECT(v[0] == 45 && v[1] == 100.25 && v[2] == 5);
  return passed();
}
