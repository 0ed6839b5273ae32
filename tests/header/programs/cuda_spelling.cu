// CUDA's spelling: names in kernels, <<<>>>, dim3; a .cu source needs no #include for them.
#include <offloadc/offload.h>

#include <cstring>

#include "check.h"

__global__ void kernel(float *p, int n) {
  __shared__ float s[64];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  s[threadIdx.x] = i < n ? std::sqrt(sinf(0.5f) * float(i)) : 0.0f;
  __syncthreads();
  if (i < n) p[i] = s[threadIdx.x];
  __syncthreads();
  if (i < n && threadIdx.x > 0) p[i] += s[threadIdx.x - 1] * fmaxf(0.0f, -1.0f);
  __threadfence();
  atomicMax(reinterpret_cast<int *>(p + n), i);
}

int main() {
  const int n = 100;
  offloadc::buffer<float> p(n + 1);
  p.fill(0);
  kernel<<<dim3(2), dim3(64)>>>(p, n);
  const auto host = p.to_vector();
  for (int i = 0; i < n; ++i) EXPECT(near(host[static_cast<std::size_t>(i)], std::sqrt(std::sin(0.5f) * float(i)), 1e-6));
  int last;
  std::memcpy(&last, &host[n], sizeof last);
  EXPECT(last == 127);
  return passed();
}
