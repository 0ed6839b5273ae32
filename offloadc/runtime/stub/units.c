#include "units.h"

#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "error.h"

/* A unit's images lie together in its object, so most are found by looking one back. */
static bool is_first_of_unit(const struct images *images, size_t index) {
  for (size_t i = index; i-- > 0;)
    if (!strcmp(images->items[i].unit, images->items[index].unit))
      return false;
  return true;
}

int offloadc_units_build(struct units *units, const struct images *images, enum offloadc_device_kind kind,
                         const char *arch) {
  *units = (struct units){calloc(images->count ? images->count : 1, sizeof *units->items), 0};
  if (!units->items)
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while choosing device images");
  for (size_t i = 0; i < images->count; i++) {
    const char *name = images->items[i].unit;
    if (is_first_of_unit(images, i))
      units->items[units->count++] = (struct unit){.name = name, .image = offloadc_choose(images, name, kind, arch)};
  }
  return OFFLOADC_SUCCESS;
}

static bool has_kernels(const struct images *images, const char *unit) {
  for (size_t i = 0; i < images->count; i++)
    if (*images->items[i].kernels && !strcmp(images->items[i].unit, unit))
      return true;
  return false;
}

enum fit offloadc_fit(const struct images *images, enum offloadc_device_kind kind, const char *arch) {
  size_t wanted = 0, fitting = 0;
  for (size_t i = 0; i < images->count; i++) {
    const char *unit = images->items[i].unit;
    if (!is_first_of_unit(images, i) || !has_kernels(images, unit))
      continue;
    wanted++;
    fitting += offloadc_choose(images, unit, kind, arch) != NULL;
  }
  return !wanted ? NOTHING_TO_FIT : fitting == wanted ? FITS_ALL : fitting ? FITS_SOME : FITS_NONE;
}

int offloadc_unit_find(struct unit *unit, const char *name, size_t size, const struct kernel **kernel) {
  *kernel = NULL;
  if (!unit->image)
    return OFFLOADC_SUCCESS;
  if (!unit->manifest_read) {
    int status = offloadc_manifest_parse(&unit->manifest, unit->image->kernels, unit->image->arch);
    if (status)
      return status;
    unit->manifest_read = true;
  }
  *kernel = offloadc_manifest_find(&unit->manifest, name, size);
  return OFFLOADC_SUCCESS;
}
