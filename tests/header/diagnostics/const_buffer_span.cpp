// expect-error: launch: this argument does not convert to the kernel's parameter of the same number
#include <offloadc/offload.h>
__global__ void kernel(offloadc::span<double>) {}
void run(const offloadc::buffer<double> &b) { offloadc::launch(kernel, 1, 1, b); }
