// expect-error: no matching function for call to 'plain'
// passes: host sm_90 gfx90a cpu
// expect-note: call to __host__ function from __global__ function
#include <offloadc/offload.h>
int plain(int i) { return i; }
__global__ void kernel(int *p) { *p = plain(*p); }
