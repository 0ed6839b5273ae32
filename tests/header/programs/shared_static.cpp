// Static shared memory, barriers in loops, a matrix transpose through a padded tile.
#include <offloadc/offload.h>

#include <complex>
#include <vector>

#include "check.h"

__global__ void reverse(int *p) {
  __shared__ int s[128];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void block_sum(offloadc::span<const double> x, double *sums) {
  __shared__ double partial[256];
  const unsigned t = threadIdx.x;
  partial[t] = offloadc::global_id() < x.size() ? x[offloadc::global_id()] : 0.0;
  offloadc::barrier();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) partial[t] += partial[t + step];
    offloadc::barrier();
  }
  if (t == 0) sums[blockIdx.x] = partial[0];
}

using complex = std::complex<double>;
__global__ void transpose(const complex *in, complex *out, unsigned n) {
  __shared__ offloadc::shared<complex, 8, 9> tile;
  const unsigned x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  offloadc::barrier();
  out[(blockIdx.x * 8 + threadIdx.y) * n + blockIdx.y * 8 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  std::vector<int> v(128);
  for (int i = 0; i < 128; ++i) v[static_cast<std::size_t>(i)] = i;
  offloadc::buffer<int> p(v);
  reverse<<<1, 128>>>(p);
  const auto reversed = p.to_vector();
  for (int i = 0; i < 128; ++i) EXPECT(reversed[static_cast<std::size_t>(i)] == 127 - i);

  std::vector<double> x(1000, 0.25);
  offloadc::buffer<double> sums(4);
  offloadc::launch(block_sum, 4, 256, x, sums);
  EXPECT(sums.to_vector() == std::vector<double>{64, 64, 64, 58});

  const unsigned n = 32;
  std::vector<complex> m(n * n);
  for (unsigned i = 0; i < n * n; ++i) m[i] = {double(i), -double(i)};
  offloadc::buffer<complex> in(m), out(n * n);
  offloadc::launch(transpose, {4, 4}, {8, 8}, in, out, n);
  const auto t = out.to_vector();
  for (unsigned y = 0; y < n; ++y)
    for (unsigned i = 0; i < n; ++i) EXPECT(t[y * n + i] == m[i * n + y]);
  return passed();
}
