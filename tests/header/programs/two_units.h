// Kernels of a header that several units use.
#pragma once
#include <offloadc/offload.h>

template <class T>
__global__ void header_scale(T *p, T factor) {
  p[threadIdx.x] *= factor;
}
inline __global__ void header_increment(float *p) { p[threadIdx.x] += 1; }
