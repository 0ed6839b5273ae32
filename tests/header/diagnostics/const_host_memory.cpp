// expect-error: launch: a span<T> parameter writes its argument, and this host memory is const
#include <offloadc/offload.h>
__global__ void kernel(offloadc::span<int>) {}
void run(const std::vector<int> &v) { offloadc::launch(kernel, 1, 1, v); }
