// Lambdas as arguments of template kernels and as kernels: device, host and device, plain, nested captures.
#include <offloadc/offload.h>

#include <vector>

#include "check.h"

template <class F>
__global__ void forall(std::size_t n, F f) {
  const std::size_t i = offloadc::global_id();
  if (i < n) f(i);
}

struct counter {
  double *p;
  std::size_t n;
  void fill(double value) const {
    double *out = p;
    offloadc::launch([=] __device__(std::size_t limit) {
      const std::size_t i = offloadc::global_id();
      if (i < limit) out[i] = value;
    }, (n + 63) / 64, 64, n);
  }
};

int main() {
  const std::size_t n = 300;
  offloadc::buffer<double> buffer(n);
  double *p = buffer.data();

  auto set = [=] __device__(std::size_t i) { p[i] = static_cast<double>(i); };
  offloadc::launch(forall<decltype(set)>, 3, 128, n, set);
  forall<<<3, 128>>>(n, [=] __host__ __device__(std::size_t i) { p[i] *= 2; });
  const double offset = 0.5;
  offloadc::launch([=] __device__ { if (offloadc::global_id() < n) p[offloadc::global_id()] += offset; }, 3, 128);
  const auto host = buffer.to_vector();
  for (std::size_t i = 0; i < n; ++i) EXPECT(host[i] == 2 * static_cast<double>(i) + 0.5);

  counter{p, n}.fill(7.0);
  EXPECT(buffer.to_vector() == std::vector<double>(n, 7.0));

  auto half = [] __host__ __device__(double v) { return v / 2; };
  offloadc::launch([=] __device__(offloadc::span<double> s) {
    if (offloadc::global_id() < s.size()) s[offloadc::global_id()] = half(s[offloadc::global_id()]);
  }, 3, 128, buffer);
  EXPECT(buffer.to_vector() == std::vector<double>(n, half(7.0)));
  return passed();
}
