// expect-error: launch: too few arguments for this kernel
#include <offloadc/offload.h>
__global__ void kernel(int *, int) {}
void run(int *p) { offloadc::launch(kernel, 1, 1, p); }
