// std::complex in kernels: arithmetic, abs, exp, sqrt, polar.
#include <complex>
#include <offloadc/offload.h>

#include "check.h"

template <class T>
__host__ __device__ void compute(std::complex<T> *out, std::complex<T> a, std::complex<T> b) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = a / b;
  out[4] = std::conj(a) * T(2) + std::complex<T>(std::norm(b), std::abs(b));
  out[5] = std::exp(a);
  out[6] = std::sqrt(b);
  out[7] = std::polar(std::abs(a), std::arg(a));
  out[8] = std::complex<T>(a == b, a != b);
}

template <class T>
__global__ void kernel(std::complex<T> *out, std::complex<T> a, std::complex<T> b) {
  compute(out, a, b);
}

template <class T>
static void works(double tolerance) {
  offloadc::buffer<std::complex<T>> out(9);
  const std::complex<T> a(T(1.5), T(-0.25)), b(T(-2), T(3));
  offloadc::launch(kernel<T>, 1, 1, out, a, b);
  std::complex<T> expected[9];
  compute(expected, a, b);
  const auto got = out.to_vector();
  for (std::size_t i = 0; i < 9; ++i) EXPECT(std::abs(got[i] - expected[i]) <= T(tolerance) * std::abs(expected[i]));
}

int main() {
  works<float>(1e-5);
  works<double>(1e-14);
  return passed();
}
