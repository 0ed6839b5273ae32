/* The lanes that run in step: 32 on NVIDIA, RDNA and the CPU device, 64 on CDNA and GCN. */
#ifndef OFFLOADC_WARP_H
#define OFFLOADC_WARP_H

#pragma GCC system_header

#include <offloadc/ids.h>

#if __OFFLOADC_TARGET_CPU__
extern "C" {
__device__ __attribute__((convergent)) __UINT32_TYPE__ __offloadc_cpu_warp_exchange_u32(__UINT64_TYPE__ mask,
                                                                                        __UINT32_TYPE__ value,
                                                                                        __UINT32_TYPE__ source_lane);
__device__ __attribute__((convergent)) __UINT64_TYPE__ __offloadc_cpu_warp_exchange_u64(__UINT64_TYPE__ mask,
                                                                                        __UINT64_TYPE__ value,
                                                                                        __UINT32_TYPE__ source_lane);
__device__ __attribute__((convergent)) __UINT64_TYPE__ __offloadc_cpu_warp_ballot(__UINT64_TYPE__ mask, int predicate);
__device__ __attribute__((convergent)) void __offloadc_cpu_warp_barrier(__UINT64_TYPE__ mask);
}
#endif

#define OFFLOADC_CONVERGENT __device__ __attribute__((convergent)) __forceinline__

namespace offloadc {

/* One bit a lane; 64 bits everywhere, so that the type does not depend on the device. */
using lane_mask = __UINT64_TYPE__;

namespace warp {

/* The most lanes any device has: sizes arrays that hold something a lane. */
inline constexpr unsigned max_width = 64;

#if __OFFLOADC_TARGET_AMDGCN__
/* Not a constant: one source may be compiled for wave32 and wave64; LLVM folds it for each image. */
__device__ __forceinline__ unsigned width() noexcept { return __builtin_amdgcn_wavefrontsize(); }
#else
__device__ __forceinline__ constexpr unsigned width() noexcept { return 32; }
#endif

OFFLOADC_PRIMITIVE(unsigned, lane, __nvvm_read_ptx_sreg_laneid(),
                   __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)),
                   linear_thread_id() % 32)

} /* namespace warp */

namespace detail {

inline constexpr lane_mask all_lanes = ~lane_mask(0);

/* What lane `source` gave. Every lane of `mask` takes part; AMD has no masks, all active lanes do. */
OFFLOADC_CONVERGENT __UINT32_TYPE__ exchange(lane_mask mask, __UINT32_TYPE__ value, unsigned source) noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  return static_cast<__UINT32_TYPE__>(__nvvm_shfl_sync_idx_i32(
      static_cast<unsigned>(mask), static_cast<int>(value), static_cast<int>(source), 31));
#elif __OFFLOADC_TARGET_AMDGCN__
  (void)mask;
  return static_cast<__UINT32_TYPE__>(
      __builtin_amdgcn_ds_bpermute(static_cast<int>(source << 2), static_cast<int>(value)));
#elif __OFFLOADC_TARGET_CPU__
  return __offloadc_cpu_warp_exchange_u32(mask & 0xffffffffu, value, source);
#else
  return (void)mask, (void)source, value;
#endif
}

OFFLOADC_CONVERGENT __UINT32_TYPE__ exchange_xor(lane_mask mask, __UINT32_TYPE__ value, unsigned bits) noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  return static_cast<__UINT32_TYPE__>(__nvvm_shfl_sync_bfly_i32(
      static_cast<unsigned>(mask), static_cast<int>(value), static_cast<int>(bits), 31));
#else
  return exchange(mask, value, warp::lane() ^ bits);
#endif
}

#if __OFFLOADC_TARGET_CPU__
OFFLOADC_CONVERGENT __UINT64_TYPE__ exchange(lane_mask mask, __UINT64_TYPE__ value, unsigned source) noexcept {
  return __offloadc_cpu_warp_exchange_u64(mask & 0xffffffffu, value, source);
}
OFFLOADC_CONVERGENT __UINT64_TYPE__ exchange_xor(lane_mask mask, __UINT64_TYPE__ value, unsigned bits) noexcept {
  return exchange(mask, value, warp::lane() ^ bits);
}
using exchange_word = __UINT64_TYPE__;
#else
using exchange_word = __UINT32_TYPE__;
#endif

template <bool Xor, class Word>
OFFLOADC_CONVERGENT Word exchange_word_with(lane_mask mask, Word value, unsigned operand) noexcept {
  if constexpr (Xor) {
    return exchange_xor(mask, value, operand);
  } else {
    return exchange(mask, value, operand);
  }
}

/* A value of any size, word by word. `operand`: the source lane, or what to xor with the own lane. */
template <bool Xor, class T>
OFFLOADC_CONVERGENT T exchange_value(lane_mask mask, T value, unsigned operand) noexcept {
  static_assert(__is_trivially_copyable(T), "lanes exchange trivially copyable values only");
  if constexpr (sizeof(T) <= sizeof(__UINT32_TYPE__)) {
    __UINT32_TYPE__ word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    word = exchange_word_with<Xor>(mask, word, operand);
    __builtin_memcpy(&value, &word, sizeof(T));
  } else {
    constexpr __SIZE_TYPE__ count = (sizeof(T) + sizeof(exchange_word) - 1) / sizeof(exchange_word);
    exchange_word words[count] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (__SIZE_TYPE__ i = 0; i < count; ++i) words[i] = exchange_word_with<Xor>(mask, words[i], operand);
    __builtin_memcpy(&value, words, sizeof(T));
  }
  return value;
}

OFFLOADC_CONVERGENT lane_mask ballot(lane_mask mask, bool predicate) noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  return __nvvm_vote_ballot_sync(static_cast<unsigned>(mask), predicate);
#elif __OFFLOADC_TARGET_AMDGCN__
  return mask & __builtin_amdgcn_ballot_w64(predicate);
#elif __OFFLOADC_TARGET_CPU__
  return __offloadc_cpu_warp_ballot(mask & 0xffffffffu, predicate);
#else
  return mask & static_cast<lane_mask>(predicate);
#endif
}

OFFLOADC_CONVERGENT bool any(lane_mask mask, bool predicate) noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  return __nvvm_vote_any_sync(static_cast<unsigned>(mask), predicate);
#else
  return ballot(mask, predicate) != 0;
#endif
}

OFFLOADC_CONVERGENT bool all(lane_mask mask, bool predicate) noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  return __nvvm_vote_all_sync(static_cast<unsigned>(mask), predicate);
#else
  return ballot(mask, !predicate) == 0;
#endif
}

OFFLOADC_CONVERGENT void warp_barrier(lane_mask mask) noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  __nvvm_bar_warp_sync(static_cast<unsigned>(mask));
#elif __OFFLOADC_TARGET_AMDGCN__
  (void)mask;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#elif __OFFLOADC_TARGET_CPU__
  __offloadc_cpu_warp_barrier(mask & 0xffffffffu);
#else
  (void)mask;
#endif
}

/* CUDA's segments of `width` lanes: the source lies in the own segment, or is the own lane. */
__device__ __forceinline__ unsigned segment_start(unsigned width) noexcept { return warp::lane() & ~(width - 1); }

__device__ __forceinline__ unsigned lane_above(unsigned delta, unsigned width) noexcept {
  const unsigned lane = warp::lane();
  return lane - segment_start(width) >= delta ? lane - delta : lane;
}
__device__ __forceinline__ unsigned lane_below(unsigned delta, unsigned width) noexcept {
  const unsigned lane = warp::lane();
  return lane - segment_start(width) + delta < width ? lane + delta : lane;
}
__device__ __forceinline__ unsigned lane_across(unsigned bits, unsigned width) noexcept {
  const unsigned source = warp::lane() ^ bits;
  return source < segment_start(width) + width ? source : warp::lane();
}

struct plus {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const noexcept { return static_cast<T>(a + b); }
};
struct lesser {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const noexcept { return b < a ? b : a; }
};
struct greater {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const noexcept { return a < b ? b : a; }
};

} /* namespace detail */

/* Every lane of the warp must call these together. */
namespace warp {

template <class T>
OFFLOADC_CONVERGENT T shuffle(T value, unsigned source_lane) noexcept {
  return detail::exchange_value<false>(detail::all_lanes, value, source_lane & (width() - 1));
}
/* The value of the lane `delta` lower (up) or higher (down); past the end the own value. */
template <class T>
OFFLOADC_CONVERGENT T shuffle_up(T value, unsigned delta) noexcept {
  return detail::exchange_value<false>(detail::all_lanes, value, detail::lane_above(delta, width()));
}
template <class T>
OFFLOADC_CONVERGENT T shuffle_down(T value, unsigned delta) noexcept {
  return detail::exchange_value<false>(detail::all_lanes, value, detail::lane_below(delta, width()));
}
template <class T>
OFFLOADC_CONVERGENT T shuffle_xor(T value, unsigned bits) noexcept {
  return detail::exchange_value<true>(detail::all_lanes, value, bits);
}

OFFLOADC_CONVERGENT lane_mask ballot(bool predicate) noexcept { return detail::ballot(detail::all_lanes, predicate); }
OFFLOADC_CONVERGENT bool any(bool predicate) noexcept { return detail::any(detail::all_lanes, predicate); }
OFFLOADC_CONVERGENT bool all(bool predicate) noexcept { return detail::all(detail::all_lanes, predicate); }
OFFLOADC_CONVERGENT void barrier() noexcept { detail::warp_barrier(detail::all_lanes); }

/* A butterfly: every lane gets the result, the same one bit for bit when op commutes. The warp must
 * be full, that is the block a multiple of width(). */
template <class T, class Op>
OFFLOADC_CONVERGENT T reduce(T value, Op op) noexcept {
#pragma unroll
  for (unsigned bits = width() / 2; bits > 0; bits /= 2) value = op(value, shuffle_xor(value, bits));
  return value;
}
template <class T>
OFFLOADC_CONVERGENT T reduce_add(T value) noexcept { return reduce(value, detail::plus()); }
template <class T>
OFFLOADC_CONVERGENT T reduce_min(T value) noexcept { return reduce(value, detail::lesser()); }
template <class T>
OFFLOADC_CONVERGENT T reduce_max(T value) noexcept { return reduce(value, detail::greater()); }

} /* namespace warp */
} /* namespace offloadc */

/* CUDA's spelling. Masks have 64 bits; a 32-bit mask on a 64-lane device names the lower half. */
#if __OFFLOADC_TARGET_AMDGCN__
#define warpSize (static_cast<int>(::offloadc::warp::width()))
#else
static constexpr int warpSize = 32;
#endif

template <class T>
OFFLOADC_CONVERGENT T __shfl_sync(offloadc::lane_mask mask, T value, int source,
                                  int width = static_cast<int>(offloadc::warp::width())) noexcept {
  const unsigned extent = static_cast<unsigned>(width);
  const unsigned lane = offloadc::detail::segment_start(extent) | (static_cast<unsigned>(source) & (extent - 1));
  return offloadc::detail::exchange_value<false>(mask, value, lane);
}
template <class T>
OFFLOADC_CONVERGENT T __shfl_up_sync(offloadc::lane_mask mask, T value, unsigned delta,
                                     int width = static_cast<int>(offloadc::warp::width())) noexcept {
  return offloadc::detail::exchange_value<false>(
      mask, value, offloadc::detail::lane_above(delta, static_cast<unsigned>(width)));
}
template <class T>
OFFLOADC_CONVERGENT T __shfl_down_sync(offloadc::lane_mask mask, T value, unsigned delta,
                                       int width = static_cast<int>(offloadc::warp::width())) noexcept {
  return offloadc::detail::exchange_value<false>(
      mask, value, offloadc::detail::lane_below(delta, static_cast<unsigned>(width)));
}
template <class T>
OFFLOADC_CONVERGENT T __shfl_xor_sync(offloadc::lane_mask mask, T value, int bits,
                                      int width = static_cast<int>(offloadc::warp::width())) noexcept {
  return offloadc::detail::exchange_value<false>(
      mask, value, offloadc::detail::lane_across(static_cast<unsigned>(bits), static_cast<unsigned>(width)));
}
OFFLOADC_CONVERGENT offloadc::lane_mask __ballot_sync(offloadc::lane_mask mask, int predicate) noexcept {
  return offloadc::detail::ballot(mask, predicate != 0);
}
OFFLOADC_CONVERGENT int __any_sync(offloadc::lane_mask mask, int predicate) noexcept {
  return offloadc::detail::any(mask, predicate != 0);
}
OFFLOADC_CONVERGENT int __all_sync(offloadc::lane_mask mask, int predicate) noexcept {
  return offloadc::detail::all(mask, predicate != 0);
}
OFFLOADC_CONVERGENT void __syncwarp(offloadc::lane_mask mask = offloadc::detail::all_lanes) noexcept {
  offloadc::detail::warp_barrier(mask);
}
/* The lanes that happen to run together with this one; on the CPU device that is the lane alone. */
OFFLOADC_CONVERGENT offloadc::lane_mask __activemask() noexcept {
#if __OFFLOADC_TARGET_NVPTX__
  return static_cast<unsigned>(__nvvm_activemask());
#elif __OFFLOADC_TARGET_AMDGCN__
  return __builtin_amdgcn_ballot_w64(true);
#else
  return offloadc::lane_mask(1) << offloadc::warp::lane();
#endif
}

#endif
