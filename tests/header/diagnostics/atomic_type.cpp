// expect-error: offloadc atomics work on 32- and 64-bit integers, float and double
#include <offloadc/offload.h>
__global__ void kernel(short *p) { offloadc::atomic_add(p, short(1)); }
