// expect-error: launch: too many arguments for this kernel
#include <offloadc/offload.h>
__global__ void kernel(int *, int) {}
void run(int *p) { offloadc::launch(kernel, 1, 1, p, 1, 2); }
