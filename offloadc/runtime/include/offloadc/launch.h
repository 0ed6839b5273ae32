/* launch(kernel, grid, block, arguments...): a kernel call that is checked like a function call. */
#ifndef OFFLOADC_LAUNCH_H
#define OFFLOADC_LAUNCH_H

#pragma GCC system_header

#include <offloadc/memory.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace offloadc OFFLOADC_HIDDEN {

/* Extents of a grid or a block, from integers of any type or a dim3. What does not fit into 32 bits
 * is an error at run time, not cut off. */
class extent {
 public:
  constexpr extent(dim3 value) noexcept : value_(value) {}
  template <class XInteger, class YInteger = unsigned, class ZInteger = unsigned,
            class = std::enable_if_t<std::is_integral_v<XInteger> && std::is_integral_v<YInteger> && std::is_integral_v<ZInteger>>>
  constexpr extent(XInteger x, YInteger y = 1, ZInteger z = 1) : value_(checked(x), checked(y), checked(z)) {}
  constexpr dim3 value() const noexcept { return value_; }

 private:
  template <class Integer>
  static constexpr unsigned checked(Integer i) {
    const auto wide = static_cast<unsigned long long>(i);
    detail::require(!(i < Integer(0)) && wide <= std::numeric_limits<unsigned>::max(),
                    "launch: an extent is negative or larger than 2^32 - 1");
    return static_cast<unsigned>(wide);
  }
  dim3 value_;
};

/* Everything about a launch but the kernel and its arguments. */
struct launch_config {
  extent grid = 1;
  extent block = 1;
  std::size_t shared_bytes = 0;   /* dynamic shared memory a block */
  offloadc_queue queue = nullptr; /* null: the device's default queue */
};

namespace detail {

template <class T>
struct is_span : std::false_type {};
template <class T>
struct is_span<span<T>> : std::true_type {};

template <class T>
struct is_device_memory : std::false_type {};
template <class T>
struct is_device_memory<buffer<T>> : std::true_type {};
template <class T>
struct is_device_memory<span<T>> : std::true_type {};

/* Ranges that only refer to their elements: a temporary one may be written through. */
template <class T>
struct is_view : std::false_type {};
template <class T>
struct is_view<host_span<T>> : std::true_type {};
#if __cplusplus >= 202002L
template <class T, std::size_t Extent>
struct is_view<std::span<T, Extent>> : std::true_type {};
#endif

template <class Arg>
using plain = std::remove_cv_t<std::remove_reference_t<Arg>>;

template <class Param, class Arg>
inline constexpr bool is_staged =
    is_span<Param>::value && is_host_range<std::remove_reference_t<Arg>>::value && !is_device_memory<plain<Arg>>::value;

/* One argument on its way: the parameter's value, and for host memory its copy on the device. */
template <std::size_t Number, class Param, class Arg, bool Staged = is_staged<Param, Arg>>
class argument {
  static_assert(std::is_convertible_v<Arg, Param>,
                "launch: this argument does not convert to the kernel's parameter of the same number");

 public:
  argument(Arg &&arg, offloadc_queue) : value_(std::forward<Arg>(arg)) {}
  void *address() noexcept { return const_cast<std::remove_cv_t<Param> *>(&value_); }
  void finish(offloadc_queue) {}

 private:
  Param value_;
};

template <std::size_t Number, class T, class Arg>
class argument<Number, span<T>, Arg, true> {
  using element = std::remove_cv_t<T>;
  using host_element = element_of<std::remove_reference_t<Arg>>;
  static_assert(std::is_same_v<std::remove_cv_t<host_element>, element>,
                "launch: a span parameter takes host memory of exactly its element type");
  static_assert(std::is_const_v<T> || !std::is_const_v<host_element>,
                "launch: a span<T> parameter writes its argument, and this host memory is const");
  static_assert(std::is_const_v<T> || std::is_lvalue_reference_v<Arg> || is_view<plain<Arg>>::value,
                "launch: a span<T> parameter writes its argument, and this one is a temporary");

 public:
  argument(Arg &&arg, offloadc_queue queue) : host_(std::data(arg)), device_(std::size(arg)) {
    device_.copy_from(host_span<const element>(host_, device_.size()), 0, queue);
    value_ = span<T>(device_.data(), device_.size());
  }
  void *address() noexcept { return &value_; }
  void finish(offloadc_queue queue) {
    if constexpr (!std::is_const_v<T>) device_.copy_to(host_span<element>(host_, device_.size()), 0, queue);
  }

 private:
  host_element *host_;
  buffer<element> device_;
  span<T> value_;
};

template <class... Argument>
void run(const void *stub, const launch_config &config, bool staged, std::initializer_list<std::uint32_t> sizes,
         Argument &&...arguments) {
  void *const addresses[] = {arguments.address()..., nullptr};
  const dim3 grid = config.grid.value(), block = config.block.value();
  check(offloadc_launch(stub, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, addresses, sizes.begin(),
                        static_cast<std::uint32_t>(sizeof...(Argument)), config.shared_bytes, config.queue));
  if (!staged) return;
  /* The kernel still uses the copies: they live until it is done. */
  check(offloadc_synchronize(config.queue));
  (arguments.finish(config.queue), ...);
}

template <class... Param>
struct signature {
  template <std::size_t... Index, class... Arg>
  static void launch(const void *stub, const launch_config &config, std::index_sequence<Index...>, Arg &&...args) {
    run(stub, config, (is_staged<Param, Arg &&> || ...), {static_cast<std::uint32_t>(sizeof(Param))...},
        argument<Index + 1, Param, Arg &&>(std::forward<Arg>(args), config.queue)...);
  }

  template <class... Arg>
  static void check_and_launch(const void *stub, const launch_config &config, Arg &&...args) {
    constexpr bool by_value = (!std::is_reference_v<Param> && ...);
    static_assert(by_value, "launch: a kernel cannot take references to host memory");
    static_assert((is_bytewise<Param>::value && ...), "launch: kernel parameters are copied bytewise: a copy constructor "
                                               "or destructor of one of them is not trivial");
    static_assert(sizeof...(Arg) >= sizeof...(Param), "launch: too few arguments for this kernel");
    static_assert(sizeof...(Arg) <= sizeof...(Param), "launch: too many arguments for this kernel");
    if constexpr (by_value && sizeof...(Arg) == sizeof...(Param))
      launch(stub, config, std::index_sequence_for<Param...>(), std::forward<Arg>(args)...);
  }
};

/* Arg callable object as a kernel: its call operator states the parameters. */
template <class Callable, class... Param>
__global__ void callable_kernel(Callable f, Param... args) {
  f(args...);
}

template <class Call>
struct call_signature;
template <class Callable, class... Param>
struct call_signature<void (Callable::*)(Param...) const> : signature<Callable, std::decay_t<Param>...> {
  static_assert((!std::is_lvalue_reference_v<Param> && ...), "launch: a callable kernel takes its parameters by value");
  static auto kernel() { return &callable_kernel<Callable, std::decay_t<Param>...>; }
};
template <class Callable, class... Param>
struct call_signature<void (Callable::*)(Param...) const noexcept> : call_signature<void (Callable::*)(Param...) const> {};

/* Deduced, so that a braced list such as {4, 4} is never taken for a launch_config. */
template <class Config>
using if_config = std::enable_if_t<std::is_same_v<Config, launch_config>>;

template <class Callable, class = void>
struct is_callable : std::false_type {};
template <class Callable>
struct is_callable<Callable, std::void_t<decltype(&Callable::operator())>> : std::true_type {};

} /* namespace detail */

/* Runs `kernel` on the current device. Arguments convert to the kernel's parameters as in a function
 * call. For a span parameter, host memory is copied to the device before the kernel and, when the
 * span's elements are not const, back after it; such a launch returns when all is done, others are
 * asynchronous on GPUs. Throws offloadc::error. */
template <class Config, class... Param, class... Arg, class = detail::if_config<Config>>
void launch(void (*kernel)(Param...), const Config &config, Arg &&...args) {
  detail::signature<Param...>::check_and_launch(reinterpret_cast<const void *>(kernel), config,
                                                std::forward<Arg>(args)...);
}

template <class... Param, class... Arg>
void launch(void (*kernel)(Param...), extent grid, extent block, Arg &&...args) {
  detail::signature<Param...>::check_and_launch(reinterpret_cast<const void *>(kernel),
                                                launch_config{grid, block, 0, nullptr}, std::forward<Arg>(args)...);
}

/* The same for a callable object, such as a [=] __device__ lambda: it is the kernel. */
template <class Callable, class Config, class... Arg, class = detail::if_config<Config>,
          class = std::enable_if_t<detail::is_callable<Callable>::value>>
void launch(Callable f, const Config &config, Arg &&...args) {
  using call = detail::call_signature<decltype(&Callable::operator())>;
  call::check_and_launch(reinterpret_cast<const void *>(call::kernel()), config, f, std::forward<Arg>(args)...);
}

template <class Callable, class... Arg, class = std::enable_if_t<detail::is_callable<Callable>::value>>
void launch(Callable f, extent grid, extent block, Arg &&...args) {
  launch(f, launch_config{grid, block, 0, nullptr}, std::forward<Arg>(args)...);
}

} /* namespace offloadc */

#endif
