// expect-error: launch: a span parameter takes host memory of exactly its element type
#include <offloadc/offload.h>
__global__ void kernel(offloadc::span<const double>) {}
void run(std::vector<float> &v) { offloadc::launch(kernel, 1, 1, v); }
