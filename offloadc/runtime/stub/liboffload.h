/* Finding and loading liboffload at run time. */
#ifndef OFFLOADC_STUB_LIBOFFLOAD_H
#define OFFLOADC_STUB_LIBOFFLOAD_H

#include "offload_api.h"

#pragma GCC visibility push(hidden)

/* OFFLOADC_ERROR_NO_DEVICE: not installed. OFFLOADC_ERROR_VERSION: a release whose functions have other
 * signatures, or OFFLOADC_LIBOFFLOAD names something that is no liboffload. */
int offloadc_liboffload_load(struct offload_api *api);

#pragma GCC visibility pop
#endif
