/* From a host stub to a kernel that the device can launch. */
#ifndef OFFLOADC_STUB_KERNELS_H
#define OFFLOADC_STUB_KERNELS_H

#include "device.h"

#pragma GCC visibility push(hidden)

int offloadc_find_kernel(struct device *device, const void *stub, const struct resolved_kernel **out);

#pragma GCC visibility pop
#endif
