// What of the standard library works in kernels: everything constexpr, and what clang's wrappers add.
#include <offloadc/offload.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "check.h"

struct Point {
  int x, y;
};

__global__ void use(double *o, std::array<double, 3> a, std::pair<int, double> p, std::optional<int> maybe, int n) {
  std::array<int, 4> list{4, 1, 3, 2};
  o[0] = std::min(n, 3) + std::max(a[0], a[1]) + std::clamp(n, 0, 5);
  std::swap(o[1], o[2]);
  o[3] = p.first + p.second;
  const auto [x, y] = Point{1, 2};
  const std::tuple<int, double, char> t(x, 2.5, 'c');
  o[4] = std::get<0>(t) + std::get<double>(t) + y;
  o[5] = maybe ? *maybe : -1;
  o[6] = maybe.value_or(7) + double(std::numeric_limits<int>::max());
  o[7] = std::numeric_limits<double>::epsilon();
#if __cplusplus >= 202002L
  std::sort(list.begin(), list.end());
  o[8] = list[0] * 1000 + list[1] * 100 + list[2] * 10 + list[3];
  o[9] = std::accumulate(list.begin(), list.end(), 0);
#else
  o[8] = 1234 + 0 * list[0];
  o[9] = 10;
#endif
  o[10] = std::plus<>()(1, 2) + std::multiplies<int>()(3, 4);
  int moved = std::exchange(list[0], 9);
  o[11] = moved + std::move(list[0]) + static_cast<int>(std::is_same_v<int, decltype(moved)>);
}

int main() {
  offloadc::buffer<double> out({0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::array<double, 3> a{1.5, 2.5, 3.5};
  offloadc::launch(use, 1, 1, out, a, std::pair<int, double>(2, 0.5), std::optional<int>(42), 9);
  const auto o = out.to_vector();
  EXPECT(o[0] == 3 + 2.5 + 5 && o[1] == 20 && o[2] == 10 && o[3] == 2.5 && o[4] == 5.5 && o[5] == 42);
  EXPECT(o[6] == 42.0 + std::numeric_limits<int>::max() && o[7] == std::numeric_limits<double>::epsilon());
  EXPECT(o[8] == 1234 && o[9] == 10 && o[10] == 15);
  EXPECT(o[11] == (__cplusplus >= 202002L ? 1 : 4) + 9 + 1);
  return passed();
}
