#include "choose.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- NVIDIA ---------------------------------------------------------------------------------
 * CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility": a cubin runs on
 * devices of the same major capability and an equal or higher minor one; PTX compiles for equal or
 * higher capability. Suffix a: this capability only. Suffix f: this family, that is the same major
 * capability and an equal or higher minor one, for PTX too. */
struct nvidia_arch {
  unsigned capability;
  char suffix; /* 'a', 'f' or 0 */
};

static struct nvidia_arch nvidia_arch(const char *name) {
  static const char *const PREFIXES[] = {"sm_", "compute_"};
  struct nvidia_arch arch = {0, 0};
  for (size_t i = 0; i < 2; i++) {
    size_t n = strlen(PREFIXES[i]);
    if (strncmp(name, PREFIXES[i], n) || name[n] < '1' || name[n] > '9')
      continue;
    char *end;
    unsigned long value = strtoul(name + n, &end, 10);
    bool suffixed = (*end == 'a' || *end == 'f') && end[1] == 0;
    if ((*end == 0 || suffixed) && value < 1000)
      arch = (struct nvidia_arch){(unsigned)value, suffixed ? *end : (char)0};
  }
  return arch;
}

unsigned offloadc_compute_capability(const char *arch) { return nvidia_arch(arch).capability; }

static bool same_family(unsigned device, unsigned image) { return device / 10 == image / 10 && device >= image; }

static bool cubin_fits(unsigned device, struct nvidia_arch image) {
  return image.suffix == 'a' ? device == image.capability : same_family(device, image.capability);
}

static bool ptx_fits(unsigned device, struct nvidia_arch image) {
  return image.suffix ? cubin_fits(device, image) : device >= image.capability;
}

/* Cubins before PTX, then the nearest capability, then what was tuned most narrowly. */
static unsigned nvidia_rank(const char *device_arch, const struct image *image) {
  unsigned device = offloadc_compute_capability(device_arch);
  struct nvidia_arch arch = nvidia_arch(image->arch);
  unsigned nearness = arch.capability * 4 + (arch.suffix == 'a' ? 2 : arch.suffix == 'f' ? 1 : 0);
  if (strncmp(image->triple, "nvptx64", 7) || !device || !arch.capability)
    return 0;
  if (image->kind == IMAGE_PTX)
    return ptx_fits(device, arch) ? nearness : 0;
  if (image->kind == IMAGE_CUBIN || image->kind == IMAGE_OBJECT)
    return cubin_fits(device, arch) ? 10000 + nearness : 0;
  return 0;
}

/* ---- AMD ------------------------------------------------------------------------------------
 * LLVM's "User Guide for AMDGPU Backend", "Target ID" and "Generic Processors". */
struct generic_processor {
  const char *name;
  const char *members; /* each between spaces */
};

static const struct generic_processor GENERIC_PROCESSORS[] = {
    {"gfx9-generic", " gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c "},
    {"gfx9-4-generic", " gfx940 gfx941 gfx942 gfx950 "},
    {"gfx10-1-generic", " gfx1010 gfx1011 gfx1012 gfx1013 "},
    {"gfx10-3-generic", " gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 "},
    {"gfx11-generic", " gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 "},
    {"gfx12-generic", " gfx1200 gfx1201 "},
};

static size_t processor_size(const char *target_id) { return strcspn(target_id, ":"); }

static bool same_processor(const char *a, const char *b) {
  return processor_size(a) == processor_size(b) && !memcmp(a, b, processor_size(a));
}

static bool is_member(const char *members, const char *target_id) {
  size_t n = processor_size(target_id);
  for (const char *at = strchr(members, ' '); at[1]; at = strchr(at + 1, ' '))
    if (!strncmp(at + 1, target_id, n) && at[1 + n] == ' ')
      return true;
  return false;
}

static bool generic_fits(const char *device, const char *image) {
  for (size_t i = 0; i < sizeof GENERIC_PROCESSORS / sizeof *GENERIC_PROCESSORS; i++)
    if (same_processor(image, GENERIC_PROCESSORS[i].name))
      return is_member(GENERIC_PROCESSORS[i].members, device);
  return false;
}

/* '+', '-' or 0: not stated. */
static char feature(const char *target_id, const char *name) {
  size_t n = strlen(name);
  for (const char *at = strchr(target_id, ':'); at; at = strchr(at + 1, ':'))
    if (!strncmp(at + 1, name, n) && (at[1 + n] == '+' || at[1 + n] == '-') && (at[2 + n] == ':' || !at[2 + n]))
      return at[1 + n];
  return 0;
}

/* How many features the image states; -1: one that the device has otherwise, or that is unknown. */
static int stated_features(const char *device, const char *image) {
  static const char *const FEATURES[] = {"sramecc", "xnack"};
  int known = 0, all = 0;
  for (size_t i = 0; i < 2; i++) {
    char stated = feature(image, FEATURES[i]);
    if (stated && stated != feature(device, FEATURES[i]))
      return -1;
    known += stated != 0;
  }
  for (const char *at = strchr(image, ':'); at; at = strchr(at + 1, ':'))
    all++;
  return known == all ? known : -1;
}

static unsigned amd_rank(const char *device, const struct image *image) {
  int features = stated_features(device, image->arch);
  if (strncmp(image->triple, "amdgcn", 6) || image->kind != IMAGE_OBJECT || features < 0)
    return 0;
  if (same_processor(device, image->arch))
    return 200 + (unsigned)features;
  return generic_fits(device, image->arch) ? 100 + (unsigned)features : 0;
}

/* ---- CPU ------------------------------------------------------------------------------------
 * x86-64 psABI, "Micro-Architecture Levels": each level contains those below. */
static unsigned x86_level(const char *arch) {
  if (!strcmp(arch, "x86-64"))
    return 1;
  bool level = !strncmp(arch, "x86-64-v", 8) && arch[8] >= '1' && arch[8] <= '4' && !arch[9];
  return level ? (unsigned)(arch[8] - '0') : 0;
}

static unsigned cpu_rank(const char *device, const struct image *image) {
  unsigned level = x86_level(image->arch);
  bool fits = !strncmp(image->triple, "x86_64", 6) && image->kind == IMAGE_OBJECT && level <= x86_level(device);
  return fits ? level : 0;
}

unsigned offloadc_image_rank(enum offloadc_device_kind kind, const char *arch, const struct image *image) {
  static unsigned (*const RANKS[])(const char *, const struct image *) = {
      [OFFLOADC_DEVICE_CPU] = cpu_rank,
      [OFFLOADC_DEVICE_CUDA] = nvidia_rank,
      [OFFLOADC_DEVICE_AMDGPU] = amd_rank,
  };
  return RANKS[kind](arch, image);
}

const struct image *offloadc_choose(const struct images *images, const char *unit, enum offloadc_device_kind kind,
                                    const char *arch) {
  const struct image *best = NULL;
  unsigned best_rank = 0;
  for (size_t i = 0; i < images->count; i++) {
    const struct image *image = &images->items[i];
    unsigned rank = strcmp(image->unit, unit) ? 0 : offloadc_image_rank(kind, arch, image);
    if (rank > best_rank) {
      best = image;
      best_rank = rank;
    }
  }
  return best;
}
