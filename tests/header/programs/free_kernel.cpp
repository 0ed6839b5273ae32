// A free kernel through launch() and through <<<>>>, with buffers.
#include <offloadc/offload.h>

#include <vector>

#include "check.h"

__global__ void daxpy(double a, const double *x, double *y, std::size_t n) {
  const std::size_t i = offloadc::global_id();
  if (i < n) y[i] += a * x[i];
}

int main() {
  const std::size_t n = 1000;
  std::vector<double> x(n), y(n, 1.0);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i);
  offloadc::buffer<double> dx(x), dy(y);

  offloadc::launch(daxpy, (n + 255) / 256, 256, 2.0, dx, dy, n);
  daxpy<<<(n + 255) / 256, 256>>>(3.0, dx, dy, n);
  offloadc::synchronize();

  y = dy.to_vector();
  for (std::size_t i = 0; i < n; ++i) EXPECT(y[i] == 1.0 + 5.0 * x[i]);
  return passed();
}
