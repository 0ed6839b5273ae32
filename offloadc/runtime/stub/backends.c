#include "backends.h"

const struct backend *const offloadc_backends[BACKEND_COUNT] = {&offloadc_cuda_backend, &offloadc_amdgpu_backend};
