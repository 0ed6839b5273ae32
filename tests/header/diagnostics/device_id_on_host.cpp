// expect-error: reference to __device__ function 'global_id' in __host__ function
// passes: host
#include <offloadc/offload.h>
std::size_t run() { return offloadc::global_id(); }
