// assert() compiles in device code and costs nothing when it holds.
#undef NDEBUG
#include <cassert>
#include <offloadc/offload.h>

#include "check.h"

__global__ void kernel(int *p, int n) {
  assert(n > 0 && "positive");
  *p = n;
}

int main() {
  offloadc::buffer<int> p(1);
  offloadc::launch(kernel, 1, 1, p, 3);
  EXPECT(p.to_vector()[0] == 3);
  return passed();
}
