// Host code keeps libm's functions: the same bits as through pointers of libm, in every spelling.
#include <offloadc/offload.h>

#include <algorithm>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <vector>

#include "check.h"

using namespace std;

static double at_start = sin(0.5) + std::sin(0.25f);

template <class F>
static double apply(F f, double x) {
  return f(x);
}

int main() {
  const auto libm_sin = reinterpret_cast<double (*)(double)>(dlsym(RTLD_DEFAULT, "sin"));
  const auto libm_expf = reinterpret_cast<float (*)(float)>(dlsym(RTLD_DEFAULT, "expf"));
  volatile double x = 0.7;
  volatile float f = 0.7f;
  EXPECT(sin(x) == libm_sin(x) && std::sin(x) == libm_sin(x) && ::sin(x) == libm_sin(x) && offloadc::sin(x) == libm_sin(x));
  EXPECT(std::exp(f) == libm_expf(f) && expf(f) == libm_expf(f) && offloadc::exp(f) == libm_expf(f));
  EXPECT(near(at_start, libm_sin(0.5) + libm_sin(0.25), 1e-7));

  // As function objects, where overload sets must still resolve.
  double (*pointer)(double) = std::sin;
  EXPECT(pointer(x) == libm_sin(x) && apply<double (*)(double)>(sin, x) == libm_sin(x));
  std::vector<float> v(3, 0.7f);
  std::transform(v.begin(), v.end(), v.begin(), expf);
  EXPECT(v[1] == libm_expf(0.7f));
  std::unique_ptr<char, decltype(&std::free)> memory(static_cast<char *>(std::malloc(8)), &std::free);
  EXPECT(memory != nullptr);
  EXPECT(abs(-2) == 2 && abs(-2.5) == 2.5 && max(1, 2) == 2 && min(2.5, 1.5) == 1.5 && pow(2.0f, 3) == 8);
  EXPECT(std::function<double(double)>([](double d) { return cos(d); })(0) == 1);
  return passed();
}
