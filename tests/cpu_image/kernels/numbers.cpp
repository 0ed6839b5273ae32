// Atomics and mathematics.
#include <cmath>
#include <offloadc/offload.h>

extern "C" __global__ void atomics(int *i, unsigned long long *u, float *f, double *d) {
  __shared__ int local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd(&local, 1);
  atomicAdd(&i[0], 2);
  atomicMax(&i[1], static_cast<int>(threadIdx.x));
  atomicMin(&i[2], -static_cast<int>(threadIdx.x));
  __scoped_atomic_fetch_add(u, 3ull, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) i[3] = local;
}

extern "C" __global__ void mathematics(const double *x, double *out, int n) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  out[0 * n + i] = std::sin(x[i]);
  out[1 * n + i] = std::exp(x[i]);
  out[2 * n + i] = std::pow(x[i], 1.5);
  out[3 * n + i] = std::sqrt(x[i]);
  out[4 * n + i] = std::erf(x[i]);
  out[5 * n + i] = static_cast<double>(std::tanh(static_cast<float>(x[i])));
  out[6 * n + i] = __builtin_fma(x[i], 3.0, 1.0);
}

extern "C" __global__ void axpy(float a, const float *x, float *y, int n) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += a * x[i];
}
int main() {}
