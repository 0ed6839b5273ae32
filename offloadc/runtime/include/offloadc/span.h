/* A view of contiguous elements that a kernel can take by value: a pointer and a count. */
#ifndef OFFLOADC_SPAN_H
#define OFFLOADC_SPAN_H

#pragma GCC system_header

#include <offloadc/prologue.h>

#include <cstddef>
#include <type_traits>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace offloadc {

/* span<const T> is what a kernel reads, span<T> what it may also write: launch() copies by that. */
template <class T>
class span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  __host__ __device__ constexpr span() noexcept : data_(nullptr), size_(0) {}
  __host__ __device__ constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

  /* span<T> to span<const T>. */
  template <class Other, class = std::enable_if_t<std::is_same_v<const Other, T> && !std::is_const_v<Other>>>
  __host__ __device__ constexpr span(span<Other> other) noexcept : data_(other.data()), size_(other.size()) {}
#if __cplusplus >= 202002L
  template <class Other, std::size_t Extent, class = std::enable_if_t<std::is_convertible_v<Other (*)[], T (*)[]>>>
  __host__ __device__ constexpr span(std::span<Other, Extent> other) noexcept : data_(other.data()), size_(other.size()) {}
#endif

  __host__ __device__ constexpr T *data() const noexcept { return data_; }
  __host__ __device__ constexpr std::size_t size() const noexcept { return size_; }
  __host__ __device__ constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  __host__ __device__ constexpr bool empty() const noexcept { return size_ == 0; }
  __host__ __device__ constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
  __host__ __device__ constexpr T &front() const noexcept { return data_[0]; }
  __host__ __device__ constexpr T &back() const noexcept { return data_[size_ - 1]; }
  __host__ __device__ constexpr T *begin() const noexcept { return data_; }
  __host__ __device__ constexpr T *end() const noexcept { return data_ + size_; }
  __host__ __device__ constexpr span subspan(std::size_t offset, std::size_t count) const noexcept {
    return span(data_ + offset, count);
  }
  __host__ __device__ constexpr span first(std::size_t count) const noexcept { return span(data_, count); }
  __host__ __device__ constexpr span last(std::size_t count) const noexcept {
    return span(data_ + (size_ - count), count);
  }

 private:
  T *data_;
  std::size_t size_;
};

template <class T>
span(T *, std::size_t) -> span<T>;

/* Host memory behind a bare pointer, marked as such so that launch() knows to copy it. */
template <class T>
class host_span {
 public:
  constexpr host_span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }

 private:
  T *data_;
  std::size_t size_;
};

template <class T>
host_span(T *, std::size_t) -> host_span<T>;

} /* namespace offloadc */

#endif
