// expect-error: launch: a span<T> parameter writes its argument, and this one is a temporary
#include <offloadc/offload.h>
__global__ void kernel(offloadc::span<int>) {}
void run() { offloadc::launch(kernel, 1, 1, std::vector<int>(3)); }
