/* What an image's string entry offloadc.kernels says: its kernels and where their parameters lie. */
#ifndef OFFLOADC_STUB_MANIFEST_H
#define OFFLOADC_STUB_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct param {
  uint32_t offset, size, align; /* align 0: not stated */
};

struct kernel {
  const char *name; /* not terminated: points into the manifest */
  size_t name_size;
  uint32_t args_size, param_count;
  const struct param *params;
};

struct manifest {
  struct kernel *kernels;
  size_t count;
  struct param *params;
};

/* The most argument bytes any target takes, with room to grow (NVIDIA: 32,764). */
enum { MAX_ARGS_SIZE = 1 << 16 };

/* `arch` names the image in errors. Memory is proportional to the text. */
int offloadc_manifest_parse(struct manifest *manifest, const char *text, const char *arch);
void offloadc_manifest_free(struct manifest *manifest);
const struct kernel *offloadc_manifest_find(const struct manifest *manifest, const char *name, size_t size);

#pragma GCC visibility pop
#endif
