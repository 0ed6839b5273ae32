// Eigen's fixed-size matrices in kernels: its own GPU mode, without its CUDA and HIP parts.
// flags: -isystem /usr/include/eigen3
#define EIGEN_GPUCC 1
#if __OFFLOADC_DEVICE_PASS__
#define EIGEN_GPU_COMPILE_PHASE 1
#endif
// Layouts must not depend on what a pass could vectorise; debug checks call host functions.
#define EIGEN_DONT_VECTORIZE
#define EIGEN_MAX_STATIC_ALIGN_BYTES 0
#define EIGEN_NO_DEBUG
#include <math.h>

#include <Eigen/Dense>
#include <offloadc/offload.h>

#include "check.h"

using Matrix = Eigen::Matrix3d;
using Vector = Eigen::Vector3d;

// Eigen's copy constructors are loops over the elements: copying the bytes is the same.
template <class T, int Rows, int Columns, int Options>
struct offloadc::is_bytewise<Eigen::Matrix<T, Rows, Columns, Options, Rows, Columns>>
    : std::bool_constant<(Rows > 0 && Columns > 0)> {};

__host__ __device__ inline void compute(Matrix m, Vector v, Vector *out) {
  out[0] = m * v + Vector::Ones() * m.determinant();
  out[1] = m.inverse() * v;
  out[2] = v.cross(out[0]).normalized();
  out[3] = m.transpose().col(0) - v.cwiseProduct(v);
}

__global__ void kernel(Matrix m, Vector v, Vector *out) { compute(m, v, out); }

int main() {
  Matrix m;
  m << 2, 1, 0, 0, 3, 1, 1, 0, 4;
  const Vector v(1, 2, 3);
  offloadc::buffer<Vector> out(4);
  offloadc::launch(kernel, 1, 1, m, v, out);
  Vector expected[4];
  compute(m, v, expected);
  const auto got = out.to_vector();
  for (std::size_t i = 0; i < 4; ++i) EXPECT((got[i] - expected[i]).norm() < 1e-14);
  return passed();
}
