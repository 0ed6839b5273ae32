// Kernels with every linkage: static, anonymous namespace, inline of a header, static member, extern "C".
#include <offloadc/offload.h>

#include "check.h"
#include "two_units.h"

static __global__ void internal(int *p) { p[0] = 1; }
namespace {
__global__ void anonymous(int *p, double d) { p[1] = static_cast<int>(d); }
template <class T>
__global__ void anonymous_template(T *p) {
  p[2] = 3;
}
}  // namespace
namespace outer {
inline namespace inner {
__global__ void nested(int *p) { p[3] = 4; }
}  // namespace inner
struct holder {
  static __global__ void member(int *p) { p[4] = 5; }
  template <int N>
  static __global__ void member_template(int *p) {
    p[5] = N;
  }
};
}  // namespace outer
extern "C" __global__ void c_name(int *p) { p[6] = 7; }

int main() {
  offloadc::buffer<int> p(7);
  offloadc::launch(internal, 1, 1, p);
  offloadc::launch(anonymous, 1, 1, p, 2.5);
  anonymous_template<<<1, 1>>>(p.data());
  offloadc::launch(outer::nested, 1, 1, p);
  offloadc::launch(outer::holder::member, 1, 1, p);
  offloadc::launch(outer::holder::member_template<6>, 1, 1, p);
  c_name<<<1, 1>>>(p);
  offloadc::buffer<float> f({1, 2, 3, 4});
  header_scale<<<1, 4>>>(f.data(), 3.0f);
  offloadc::launch(header_increment, 1, 4, f);
  offloadc::synchronize();
  const auto host = p.to_vector();
  for (int i = 0; i < 7; ++i) EXPECT(host[static_cast<std::size_t>(i)] == i + 1);
  EXPECT(f.to_vector() == std::vector<float>{4, 7, 10, 13});
  return passed();
}
