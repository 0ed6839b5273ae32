// Eigen in host code beside a kernel. flags: -isystem /usr/include/eigen3
#include <Eigen/Dense>
#include <offloadc/offload.h>

#include "check.h"

__global__ void scale(double *p, double factor) { p[threadIdx.x] *= factor; }

int main() {
  Eigen::MatrixXd a = Eigen::MatrixXd::Identity(8, 8) * 2;
  a(0, 7) = 1;
  Eigen::VectorXd x = a.partialPivLu().solve(Eigen::VectorXd::Ones(8));
  offloadc::buffer<double> p(offloadc::host_span(x.data(), 8));
  offloadc::launch(scale, 1, 8, p, 4.0);
  p.copy_to(offloadc::host_span(x.data(), 8));
  EXPECT(x(7) == 2 && x(0) == 1);
  return passed();
}
