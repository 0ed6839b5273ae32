/* Queues, devices and device memory, owned by objects. Host code only. */
#ifndef OFFLOADC_MEMORY_H
#define OFFLOADC_MEMORY_H

#pragma GCC system_header

#include <offloadc/error.h>
#include <offloadc/span.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace offloadc OFFLOADC_HIDDEN {

/* An ordered list of work: what is launched into one queue runs in order. */
class queue {
 public:
  queue() { detail::check(offloadc_queue_create(&handle_)); }
  queue(queue &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  queue &operator=(queue &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  queue(const queue &) = delete;
  queue &operator=(const queue &) = delete;
  /* Waits for its work. A failure here has no one to be told to; synchronize() first to learn of it. */
  ~queue() {
    if (handle_) (void)offloadc_queue_destroy(handle_);
  }

  void synchronize() { detail::check(offloadc_synchronize(handle_)); }
  offloadc_queue get() const noexcept { return handle_; }
  operator offloadc_queue() const noexcept { return handle_; }

 private:
  offloadc_queue handle_ = nullptr;
};

/* Waits for the default queue. */
inline void synchronize() { detail::check(offloadc_synchronize(nullptr)); }

enum class device_kind { cpu = OFFLOADC_DEVICE_CPU, cuda = OFFLOADC_DEVICE_CUDA, amdgpu = OFFLOADC_DEVICE_AMDGPU };

/* What the device that runs this program's kernels is. */
class device {
 public:
  static device current() {
    device result;
    detail::check(offloadc_current_device(&result.info_));
    return result;
  }

  device_kind kind() const noexcept { return static_cast<device_kind>(info_.kind); }
  int index() const noexcept { return info_.index; }
  std::string name() const { return info_.name; }
  std::string arch() const { return info_.arch; }
  unsigned warp_size() const noexcept { return info_.warp_size; }
  unsigned compute_units() const noexcept { return info_.compute_units; }
  unsigned max_block_threads() const noexcept { return info_.max_block_threads; }
  std::uint64_t memory_bytes() const noexcept { return info_.memory_bytes; }

 private:
  device() = default;
  offloadc_device_info info_{};
};

namespace detail {

template <class Range>
using element_of = std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>;

template <class Range, class = void>
struct is_host_range : std::false_type {};
template <class Range>
struct is_host_range<Range, std::void_t<element_of<Range>, decltype(std::size(std::declval<Range &>()))>> : std::true_type {};

} /* namespace detail */

/* Whether copying the bytes copies the value: what kernel arguments and buffers ask for. Specialize it
 * for a type that says more than it does, such as a matrix whose copy constructor is a loop. */
template <class T>
struct is_bytewise
    : std::bool_constant<std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>> {};

/* `size()` elements of T in the device's memory, uninitialized unless made from host data. */
template <class T>
class buffer {
  static_assert(is_bytewise<T>::value, "buffer<T>: T must be copyable byte by byte (offloadc::is_bytewise)");
  static_assert(!std::is_const_v<T>, "buffer<T>: T must not be const");

 public:
  using value_type = T;

  buffer() noexcept = default;
  explicit buffer(std::size_t size) : size_(size) {
    detail::require(size <= std::numeric_limits<std::size_t>::max() / sizeof(T), "buffer: too many elements");
    void *memory = nullptr;
    if (size) detail::check(offloadc_alloc(size * sizeof(T), &memory));
    data_ = static_cast<T *>(memory);
  }
  /* From a vector, array, C array, std::span, host_span or initializer list of T. */
  template <class Range, class = std::enable_if_t<std::is_same_v<std::remove_cv_t<detail::element_of<const Range>>, T>>>
  explicit buffer(const Range &host) : buffer(std::size(host)) {
    copy_from(host);
  }
  buffer(std::initializer_list<T> host) : buffer(host.size()) { copy_from(host); }

  buffer(buffer &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  buffer &operator=(buffer &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  buffer(const buffer &) = delete;
  buffer &operator=(const buffer &) = delete;
  ~buffer() { (void)offloadc_free(data_); }

  /* Device pointers: only kernels may follow them. */
  T *data() noexcept { return data_; }
  const T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  bool empty() const noexcept { return size_ == 0; }

  /* All of `host` to, or from, the elements at `offset` on. Done when the call returns. */
  template <class Range>
  void copy_from(const Range &host, std::size_t offset = 0, offloadc_queue queue = nullptr) {
    static_assert(std::is_same_v<std::remove_cv_t<detail::element_of<const Range>>, T>,
                  "buffer<T>::copy_from: the host elements must be T");
    const std::size_t count = std::size(host);
    detail::require(offset <= size_ && count <= size_ - offset, "buffer::copy_from: host range too long");
    if (count) detail::check(offloadc_copy_to_device(data_ + offset, std::data(host), count * sizeof(T), queue));
  }
  template <class Range>
  void copy_to(Range &&host, std::size_t offset = 0, offloadc_queue queue = nullptr) const {
    static_assert(std::is_same_v<detail::element_of<Range>, T>,
                  "buffer<T>::copy_to: the host elements must be T and not const");
    const std::size_t count = std::size(host);
    detail::require(offset <= size_ && count <= size_ - offset, "buffer::copy_to: host range too long");
    if (count) detail::check(offloadc_copy_to_host(std::data(host), data_ + offset, count * sizeof(T), queue));
  }
  std::vector<T> to_vector(offloadc_queue queue = nullptr) const {
    std::vector<T> host(size_);
    copy_to(host, 0, queue);
    return host;
  }
  /* Every byte, not every element. */
  void fill(unsigned char byte, offloadc_queue queue = nullptr) {
    if (size_) detail::check(offloadc_fill(data_, byte, size_bytes(), queue));
  }

  operator span<T>() noexcept { return {data_, size_}; }
  operator span<const T>() const noexcept { return {data_, size_}; }
  /* Templates, so that each target type has exactly one candidate: T* only of a buffer that is not const. */
  template <class Pointer, class = std::enable_if_t<std::is_same_v<Pointer, T *>>>
  operator Pointer() noexcept {
    return data_;
  }
  template <class Pointer, class = std::enable_if_t<std::is_same_v<Pointer, const T *>>, class = void>
  operator Pointer() const noexcept {
    return data_;
  }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

template <class Range>
buffer(const Range &) -> buffer<std::remove_cv_t<detail::element_of<const Range>>>;

/* What the check of host and device found when this program was built, for people to read. */
inline std::string contract_verdict() { return offloadc_contract_verdict(); }

} /* namespace offloadc */

#endif
