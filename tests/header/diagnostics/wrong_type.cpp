// expect-error: launch: this argument does not convert to the kernel's parameter of the same number
// expect-note: argument<2, int, const char (&)[5]>
#include <offloadc/offload.h>
__global__ void kernel(int *, int) {}
void run(int *p) { offloadc::launch(kernel, 1, 1, p, "text"); }
