// expect-error: device code has no long double mathematical functions
// passes: sm_90 gfx90a
// stage: codegen
#include <offloadc/offload.h>
__global__ void kernel(double *p) { *p = static_cast<double>(std::sin(1.0L)); }
