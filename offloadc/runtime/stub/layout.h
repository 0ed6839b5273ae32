/* Where arguments go in the packed kernel-argument buffer. Pure. */
#ifndef OFFLOADC_STUB_LAYOUT_H
#define OFFLOADC_STUB_LAYOUT_H

#include <stdbool.h>

#include "manifest.h"

#pragma GCC visibility push(hidden)

/* Constant-bank address of the first parameter on devices of this compute capability (90: 9.0), as
 * ptxas lays kernels out. 0: not known. */
uint32_t offloadc_param_base(unsigned capability);

/* A parameter of PTX that must be aligned more than the bank's base is: its place depends on the
 * device for which the driver compiles. */
bool offloadc_needs_param_base(const struct kernel *kernel);

/* Places the parameters anew as ptxas does from `base`; returns the end of the last one, UINT32_MAX
 * when that is beyond MAX_ARGS_SIZE. */
uint32_t offloadc_place_from_base(const struct kernel *kernel, uint32_t base, struct param *placed);

/* Copies each argument to its place; bytes between parameters become 0. */
void offloadc_pack(unsigned char *buffer, uint32_t args_size, const struct param *params, uint32_t count,
                   void *const *args);

#pragma GCC visibility pop
#endif
