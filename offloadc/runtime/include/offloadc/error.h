/* How failures of the runtime reach C++: an exception, or without exceptions the end of the program. */
#ifndef OFFLOADC_ERROR_H
#define OFFLOADC_ERROR_H

#pragma GCC system_header

#include <offloadc/prologue.h>
#include <offloadc/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

namespace offloadc {

class error : public std::runtime_error {
 public:
  error(offloadc_status code, const std::string &message) : std::runtime_error(message), code_(code) {}
  offloadc_status code() const noexcept { return code_; }

 private:
  offloadc_status code_;
};

namespace detail OFFLOADC_HIDDEN {

[[noreturn]] inline void end_program(const char *message) {
  std::fflush(stdout);
  std::fprintf(stderr, "offloadc: error: %s\n", message);
  std::_Exit(1);
}

#if defined(__cpp_exceptions) && !__OFFLOADC_DEVICE_PASS__
/* An error that nobody caught ends the program with its text and exit code 1, not with an abort. */
struct uncaught_error {
  inline static std::terminate_handler previous = nullptr;

  uncaught_error() noexcept { previous = std::set_terminate(report); }
  [[noreturn]] static void report() {
    if (const std::exception_ptr current = std::current_exception()) {
      try {
        std::rethrow_exception(current);
      } catch (const error &caught) {
        end_program(caught.what());
      } catch (...) { /* another's: the handler before this one deals with it */
      }
    }
    if (previous) previous();
    std::abort();
  }
};
inline const uncaught_error report_uncaught_errors;
#endif

[[noreturn]] inline void fail(offloadc_status code, const std::string &message) {
#if defined(__cpp_exceptions)
  throw error(code, message);
#else
  (void)code;
  end_program(message.c_str());
#endif
}

inline void check(int status) {
  if (status != OFFLOADC_SUCCESS) fail(static_cast<offloadc_status>(status), offloadc_last_error());
}

inline void require(bool condition, const char *message) {
  if (!condition) fail(OFFLOADC_ERROR_INVALID_ARGUMENT, message);
}

} /* namespace detail */
} /* namespace offloadc */

#endif
