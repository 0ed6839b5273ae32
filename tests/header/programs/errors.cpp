// A failed launch throws offloadc::error with the runtime's code and words.
#include <offloadc/offload.h>

#include <climits>
#include <string>

#include "check.h"

__global__ void nothing(int *) {}

template <class F>
static offloadc_status code_of(F f) {
  try {
    f();
  } catch (const offloadc::error &e) {
    EXPECT(std::string(e.what()).size() > 10);
    return e.code();
  }
  return OFFLOADC_SUCCESS;
}

int main() {
  offloadc::buffer<int> p(4);
  EXPECT(code_of([&] { offloadc::launch(nothing, 1, 1, p); }) == OFFLOADC_SUCCESS);
  EXPECT(code_of([&] { offloadc::launch(nothing, 0, 1, p); }) == OFFLOADC_SUCCESS);
  EXPECT(code_of([&] { offloadc::launch(nothing, -1, 1, p); }) == OFFLOADC_ERROR_INVALID_ARGUMENT);
  EXPECT(code_of([&] { offloadc::launch(nothing, std::size_t(1) << 33, 1, p); }) == OFFLOADC_ERROR_INVALID_ARGUMENT);
  EXPECT(code_of([&] { offloadc::launch(nothing, 1, 1 << 20, p); }) == OFFLOADC_ERROR_INVALID_ARGUMENT);
  EXPECT(code_of([&] { p.copy_from(std::vector<int>(5)); }) == OFFLOADC_ERROR_INVALID_ARGUMENT);
  EXPECT(code_of([&] { offloadc::buffer<int> huge(SIZE_MAX / 2); }) == OFFLOADC_ERROR_INVALID_ARGUMENT);
  EXPECT(code_of([&] { offloadc::buffer<char> huge(std::size_t(LONG_MAX)); }) == OFFLOADC_ERROR_OUT_OF_MEMORY);
  EXPECT(p.size() == 4);
  return passed();
}
