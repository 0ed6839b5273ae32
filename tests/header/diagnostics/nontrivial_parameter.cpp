// expect-error: launch: kernel parameters are copied bytewise: a copy constructor or destructor of one of them is not trivial
#include <offloadc/offload.h>
#include <string>
struct S { S(const char *) {} __host__ __device__ S(const S &) {} };
__global__ void kernel(S) {}
void run() { offloadc::launch(kernel, 1, 1, S("x")); }
