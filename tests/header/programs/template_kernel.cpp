// Template kernels: named instances, deduced by <<<>>>, non-type parameters.
#include <offloadc/offload.h>

#include "check.h"

template <class T>
__global__ void scale(T *p, T factor, int n) {
  const int i = static_cast<int>(offloadc::global_id());
  if (i < n) p[i] *= factor;
}

template <int Step, class T>
__global__ void every(T *p, T value) {
  p[Step * threadIdx.x] = value;
}

int main() {
  offloadc::buffer<float> p({1, 2, 3, 4, 5, 6, 7, 8});
  offloadc::launch(scale<float>, 1, 32, p, 2.0f, 8);
  scale<<<1, 32>>>(p.data(), 2.0f, 8);
  offloadc::launch(every<2, float>, 1, 4, p, 0.5f);
  offloadc::synchronize();
  const auto host = p.to_vector();
  for (unsigned i = 0; i < 8; ++i) EXPECT(host[i] == (i % 2 ? 4.0f * static_cast<float>(i + 1) : 0.5f));
  return passed();
}
