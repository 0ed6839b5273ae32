// The documented macros tell device code from host code, and the targets apart.
#include <offloadc/offload.h>

#include "check.h"

__host__ __device__ inline int where() {
#if __OFFLOADC_TARGET_NVPTX__
  return OFFLOADC_DEVICE_CUDA;
#elif __OFFLOADC_TARGET_AMDGCN__
  return OFFLOADC_DEVICE_AMDGPU;
#elif __OFFLOADC_TARGET_CPU__
  return OFFLOADC_DEVICE_CPU;
#elif !__OFFLOADC_DEVICE_PASS__
  return -1;
#endif
}

__global__ void ask(int *p) { *p = where(); }

int main() {
  offloadc::buffer<int> p(1);
  offloadc::launch(ask, 1, 1, p);
  EXPECT(p.to_vector()[0] == static_cast<int>(offloadc::device::current().kind()));
  EXPECT(where() == -1);
  return passed();
}
