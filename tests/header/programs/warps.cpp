// Shuffles, ballots and reductions, for 32 and 64 lanes.
#include <offloadc/offload.h>

#include <cstdint>

#include "check.h"

namespace warp = offloadc::warp;

struct Big {
  int a[5];
};

struct Lane {
  unsigned width, lane;
  int from3, up, down, across;
  double from3_double;
  Big big;
  std::uint64_t even;
  bool any, none, all;
};

__global__ void lanes(Lane *out) {
  const unsigned t = threadIdx.x;
  const int v = static_cast<int>(t) * 10;
  const Big mine = {{v, v + 1, v + 2, v + 3, v + 4}};
  Lane r = {};
  r.width = warp::width();
  r.lane = warp::lane();
  r.from3 = warp::shuffle(v, 3);
  r.up = warp::shuffle_up(v, 2);
  r.down = warp::shuffle_down(v, 5);
  r.across = warp::shuffle_xor(v, 1);
  r.from3_double = warp::shuffle(v + 0.5, 3);
  r.big = warp::shuffle_xor(mine, 2);
  r.even = warp::ballot(t % 2 == 0);
  r.any = warp::any(r.lane == 7);
  r.none = warp::any(r.lane == 1000);
  r.all = warp::all(v >= 0);
  out[t] = r;
}

template <class T>
__global__ void reductions(T *out) {
  const T v = static_cast<T>(threadIdx.x + 1);
  const T sum = warp::reduce_add(v), low = warp::reduce_min(v), high = warp::reduce_max(v);
  if (threadIdx.x == blockDim.x - 1) {
    out[0] = sum;
    out[1] = low;
    out[2] = high;
  }
}

__global__ void cuda_spelling(int *out) {
  const int v = static_cast<int>(threadIdx.x);
  const offloadc::lane_mask everyone = ~offloadc::lane_mask(0);
  int *mine = out + threadIdx.x * 7;
  mine[0] = __shfl_sync(everyone, v, 1, 8);
  mine[1] = __shfl_up_sync(everyone, v, 1, 8);
  mine[2] = __shfl_down_sync(everyone, v, 1, 8);
  mine[3] = __shfl_xor_sync(everyone, v, 3);
  mine[4] = __ballot_sync(everyone, v < 4) == 0xf;
  mine[5] = __any_sync(everyone, v == 2) && !__all_sync(everyone, v == 2);
  mine[6] = static_cast<int>((__activemask() >> (v % warpSize)) & 1);
  __syncwarp();
}

template <class T>
static void reductions_work(unsigned width) {
  offloadc::buffer<T> out(3);
  offloadc::launch(reductions<T>, 1, width, out);
  const auto r = out.to_vector();
  EXPECT(r[0] == T(width * (width + 1) / 2) && r[1] == T(1) && r[2] == T(width));
}

int main() {
  const unsigned width = offloadc::device::current().warp_size();
  EXPECT(width == 32 || width == 64);
  const unsigned threads = 2 * width;
  offloadc::buffer<Lane> out(threads);
  offloadc::launch(lanes, 1, threads, out);
  const auto r = out.to_vector();
  for (unsigned t = 0; t < threads; ++t) {
    const unsigned lane = t % width, first = t - lane;
    auto value = [&](unsigned l) { return static_cast<int>(first + l) * 10; };
    EXPECT(r[t].width == width && r[t].lane == lane);
    EXPECT(r[t].from3 == value(3) && r[t].from3_double == value(3) + 0.5);
    EXPECT(r[t].up == value(lane < 2 ? lane : lane - 2));
    EXPECT(r[t].down == value(lane + 5 < width ? lane + 5 : lane));
    EXPECT(r[t].across == value(lane ^ 1) && r[t].big.a[4] == value(lane ^ 2) + 4);
    EXPECT(r[t].even == (width == 32 ? 0x55555555u : 0x5555555555555555u));
    EXPECT(r[t].any && !r[t].none && r[t].all);
  }
  reductions_work<int>(width);
  reductions_work<unsigned>(width);
  reductions_work<long>(width);
  reductions_work<unsigned long long>(width);
  reductions_work<float>(width);
  reductions_work<double>(width);

  offloadc::buffer<int> cuda(width * 7);
  cuda_spelling<<<1, width>>>(cuda);
  const auto c = cuda.to_vector();
  for (unsigned t = 0; t < width; ++t) {
    const int lane = static_cast<int>(t), segment = lane & ~7;
    const int *mine = c.data() + t * 7;
    EXPECT(mine[0] == segment + 1);
    EXPECT(mine[1] == (lane == segment ? lane : lane - 1));
    EXPECT(mine[2] == (lane == segment + 7 ? lane : lane + 1));
    EXPECT(mine[3] == (lane ^ 3) && mine[4] && mine[5] && mine[6] == 1);
  }
  return passed();
}
