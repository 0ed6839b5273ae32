// Span parameters: buffers pass as they are, host memory is copied in, and back when it may be written.
#include <offloadc/offload.h>

#include <array>
#include <numeric>
#include <vector>

#include "check.h"

using offloadc::span;

__global__ void add(span<const double> a, span<const double> b, span<double> sum) {
  const std::size_t i = offloadc::global_id();
  if (i < sum.size()) sum[i] = a[i] + b[i];
}

__global__ void twice(span<int> s) {
  if (threadIdx.x == 0)
    for (int &v : s) v *= 2;
}

__global__ void through_pointers(const double *in, double *out, span<const double> s) {
  out[0] = in[0] + s.front() + s.back() + s.subspan(1, 2)[1] + static_cast<double>(s.size());
}

struct Holder {
  span<const double> view;
  double factor;
};
__global__ void nested(Holder h, span<double> out) { out[0] = h.factor * h.view[1]; }

int main() {
  std::vector<double> a(100), sum(100);
  std::iota(a.begin(), a.end(), 0.0);
  const std::vector<double> b(100, 0.5);
  offloadc::launch(add, 4, 32, a, b, sum);
  for (std::size_t i = 0; i < 100; ++i) EXPECT(sum[i] == a[i] + 0.5);

  // A buffer stays on the device; mixing is fine.
  offloadc::buffer<double> device(100);
  offloadc::launch(add, 4, 32, a, a, device);
  const offloadc::buffer<double> &read_only = device;
  offloadc::launch(add, 4, 32, read_only, b, sum);
  EXPECT(sum[99] == 198.5 && device.to_vector()[99] == 198);

  int array[4] = {1, 2, 3, 4};
  offloadc::launch(twice, 1, 1, array);
  std::array<int, 2> fixed{5, 6};
  offloadc::launch(twice, 1, 1, fixed);
  std::vector<int> vector{7};
  offloadc::launch(twice, 1, 1, offloadc::host_span(vector.data(), vector.size()));
  EXPECT(array[3] == 8 && fixed[1] == 12 && vector[0] == 14);
#if __cplusplus >= 202002L
  offloadc::launch(twice, 1, 1, std::span<int>(array).first(2));
  EXPECT(array[0] == 4 && array[1] == 8 && array[2] == 6);
  const span<int> from_std = std::span<int>(array);
  EXPECT(from_std.data() == array && from_std.size() == 4);
#endif
  offloadc::launch(twice, 1, 1, std::vector<int>{}.empty() ? vector : vector);
  EXPECT(vector[0] == 28);
  std::vector<int> none;
  offloadc::launch(twice, 1, 1, none);

  offloadc::buffer<double> in(a), out(1);
  through_pointers<<<1, 1>>>(in, out, in);
  EXPECT(out.to_vector()[0] == 0 + 0 + 99 + 2 + 100);
  offloadc::launch(through_pointers, 1, 1, read_only, out, std::vector<double>{1, 2, 3});
  EXPECT(out.to_vector()[0] == 0 + 1 + 3 + 3 + 3);
  offloadc::launch(nested, 1, 1, Holder{in, 3.0}, out);
  EXPECT(out.to_vector()[0] == 3);
  return passed();
}
