// Atomics of every type on global and shared memory.
#include <offloadc/offload.h>

#include <cstdint>

#include "check.h"

template <class T>
struct Cells {
  T add, sub, min, max, exchanged, swapped;
};

template <class T>
__global__ void arithmetic(Cells<T> *c) {
  const int i = static_cast<int>(offloadc::global_id()) + 1;
  offloadc::atomic_add(&c->add, static_cast<T>(i));
  offloadc::atomic_sub(&c->sub, static_cast<T>(1));
  offloadc::atomic_min(&c->min, static_cast<T>(i));
  offloadc::atomic_max(&c->max, static_cast<T>(i));
  offloadc::atomic_exchange(&c->exchanged, static_cast<T>(5));
  T seen = offloadc::atomic_load(&c->swapped);
  for (;;) {
    const T found = offloadc::atomic_compare_exchange(&c->swapped, seen, seen + 1);
    if (found == seen) break;
    seen = found;
  }
}

template <class T>
static void arithmetic_works() {
  offloadc::buffer<Cells<T>> c({Cells<T>{0, 1000, 2000, 3, 1, 0}});
  offloadc::launch(arithmetic<T>, 4, 96, c);
  const Cells<T> r = c.to_vector()[0];
  EXPECT(r.add == T(384 * 385 / 2) && r.sub == T(616) && r.min == 1 && r.max == 384);
  EXPECT(r.exchanged == 5 && r.swapped == 384);
}

template <class T>
__global__ void bits(T *p) {
  const T bit = T(1) << (threadIdx.x % 31);
  offloadc::atomic_or(p, bit);
  offloadc::atomic_and(p + 1, static_cast<T>(~bit));
  offloadc::atomic_xor(p + 2, bit);
}

template <class T>
static void bits_work() {
  offloadc::buffer<T> p({T(0), static_cast<T>(~T(0)), T(0)});
  offloadc::launch(bits<T>, 1, 31, p);
  const auto r = p.to_vector();
  EXPECT(r[0] == T(0x7fffffff) && r[1] == static_cast<T>(~T(0x7fffffff)) && r[2] == T(0x7fffffff));
}

__global__ void histogram(const unsigned *keys, unsigned n, unsigned *counts) {
  __shared__ unsigned local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&local[keys[i] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(counts + threadIdx.x, local[threadIdx.x]);
}

int main() {
  arithmetic_works<std::int32_t>();
  arithmetic_works<std::uint32_t>();
  arithmetic_works<std::int64_t>();
  arithmetic_works<std::uint64_t>();
  arithmetic_works<long long>();
  arithmetic_works<float>();
  arithmetic_works<double>();
  bits_work<int>();
  bits_work<std::uint32_t>();
  bits_work<std::int64_t>();
  bits_work<unsigned long long>();

  std::vector<unsigned> keys(1000);
  for (unsigned i = 0; i < 1000; ++i) keys[i] = i * i;
  std::vector<unsigned> expected(16);
  for (unsigned k : keys) ++expected[k % 16];
  offloadc::buffer<unsigned> dk(keys), counts(16);
  counts.fill(0);
  histogram<<<1, 128>>>(dk, 1000, counts);
  EXPECT(counts.to_vector() == expected);

  unsigned host = 1;
  EXPECT(offloadc::atomic_add(&host, 2u) == 1 && host == 3);
  return passed();
}
