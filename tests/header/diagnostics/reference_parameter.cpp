// expect-error: launch: a kernel cannot take references to host memory
#include <offloadc/offload.h>
__global__ void kernel(const int &) {}
void run(int i) { offloadc::launch(kernel, 1, 1, i); }
