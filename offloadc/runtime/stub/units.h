/* The program's translation units, and the image of each that a device runs. */
#ifndef OFFLOADC_STUB_UNITS_H
#define OFFLOADC_STUB_UNITS_H

#include <stdbool.h>

#include "images.h"
#include "manifest.h"

#pragma GCC visibility push(hidden)

struct unit {
  const char *name;
  const struct image *image; /* NULL: none fits the device */
  struct manifest manifest;  /* read at first use */
  bool manifest_read;
  void *program; /* the device's own: the loaded image */
};

struct units {
  struct unit *items;
  size_t count;
};

/* How many of the units that hold kernels have an image for a device. */
enum fit { FITS_NONE, FITS_SOME, FITS_ALL, NOTHING_TO_FIT };

int offloadc_units_build(struct units *units, const struct images *images, enum offloadc_device_kind kind,
                         const char *arch);
enum fit offloadc_fit(const struct images *images, enum offloadc_device_kind kind, const char *arch);

/* OFFLOADC_SUCCESS and *kernel NULL when the unit's image does not have it. */
int offloadc_unit_find(struct unit *unit, const char *name, size_t size, const struct kernel **kernel);

#pragma GCC visibility pop
#endif
