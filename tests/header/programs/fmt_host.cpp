// {fmt} in host code beside a kernel. flags: -DFMT_HEADER_ONLY
#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <offloadc/offload.h>

#include "check.h"

__global__ void iota(int *p) { p[threadIdx.x] = static_cast<int>(threadIdx.x); }

int main() {
  offloadc::buffer<int> p(4);
  offloadc::launch(iota, 1, 4, p);
  EXPECT(fmt::format("{} {:.3f}", p.to_vector(), 1.5) == "[0, 1, 2, 3] 1.500");
  return passed();
}
