// By-value parameters of any alignment, between odd neighbours.
#include <offloadc/offload.h>

#include <array>

#include "check.h"

struct alignas(32) Wide {
  float f[3];
};
struct alignas(64) Line {
  double d;
  char tag;
};
struct Empty {};
struct Pointer {
  double *p;
  std::size_t n;
};
struct Odd {
  char c[3];
};

__global__ void gather(char c, Wide w, Empty, char c2, Line line, Odd odd, std::array<double, 3> a, Pointer out) {
  if (threadIdx.x == 0 && out.n >= 8) {
    out.p[0] = c;
    out.p[1] = w.f[1];
    out.p[2] = c2;
    out.p[3] = line.d;
    out.p[4] = line.tag;
    out.p[5] = odd.c[0] + odd.c[1] * 10 + odd.c[2] * 100;
    out.p[6] = a[2];
    w.f[2] += 1;
    out.p[7] = w.f[2];
  }
}

static void expect(const offloadc::buffer<double> &out) {
  const auto v = out.to_vector();
  EXPECT(v[0] == 1 && v[1] == 2.5 && v[2] == 10 && v[3] == 1e300 && v[4] == 7 && v[5] == 321 && v[6] == -3 && v[7] == 5);
}

int main() {
  offloadc::buffer<double> out(8);
  const Wide w{{1, 2.5f, 4}};
  const Line line{1e300, 7};
  const Odd odd{{1, 2, 3}};
  const std::array<double, 3> a{-1, -2, -3};
  const Pointer p{out.data(), out.size()};
  offloadc::launch(gather, 1, 4, char{1}, w, Empty{}, char{10}, line, odd, a, p);
  expect(out);
  out.fill(0);
  gather<<<1, 4>>>(1, w, Empty{}, 10, line, odd, a, p);
  expect(out);
  return passed();
}
