/* Which of the program's images fits a device, and which fits best. Pure. */
#ifndef OFFLOADC_STUB_CHOOSE_H
#define OFFLOADC_STUB_CHOOSE_H

#include "images.h"

#pragma GCC visibility push(hidden)

/* 0: does not fit; the higher the better. `arch` as in offloadc_device_info. */
unsigned offloadc_image_rank(enum offloadc_device_kind kind, const char *arch, const struct image *image);

/* The best image of one unit; NULL: none fits. The first in file order wins among equals. */
const struct image *offloadc_choose(const struct images *images, const char *unit, enum offloadc_device_kind kind,
                                    const char *arch);

/* Compute capability times ten of sm_NN: 90 for sm_90. 0: not such a name. */
unsigned offloadc_compute_capability(const char *arch);

#pragma GCC visibility pop
#endif
