#include "manifest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/* NAME SP ARGS_SIZE {SP OFFSET:SIZE:ALIGN} LF */
struct reader {
  const char *at;
  struct param *next;
};

static bool read_char(struct reader *reader, char wanted) {
  if (*reader->at != wanted)
    return false;
  reader->at++;
  return true;
}

static bool read_number(struct reader *reader, uint32_t *value) {
  const char *begin = reader->at;
  *value = 0;
  for (; *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
    *value = *value * 10 + (uint32_t)(*reader->at - '0');
    if (*value > MAX_ARGS_SIZE)
      return false;
  }
  return reader->at != begin;
}

static bool is_alignment(uint32_t align) { return (align & (align - 1)) == 0; }

static bool read_param(struct reader *reader, uint32_t args_size, uint32_t previous_end) {
  struct param *p = reader->next++;
  return read_number(reader, &p->offset) && read_char(reader, ':') && read_number(reader, &p->size) &&
         read_char(reader, ':') && read_number(reader, &p->align) && is_alignment(p->align) &&
         p->offset >= previous_end && p->offset + p->size <= args_size;
}

static bool read_kernel(struct reader *reader, struct kernel *kernel) {
  const struct param *params = reader->next;
  kernel->name = reader->at;
  kernel->name_size = strcspn(reader->at, " \n");
  kernel->params = params;
  kernel->param_count = 0;
  reader->at += kernel->name_size;
  if (!kernel->name_size || !read_char(reader, ' ') || !read_number(reader, &kernel->args_size))
    return false;
  for (uint32_t end = 0; read_char(reader, ' '); kernel->param_count++) {
    if (!read_param(reader, kernel->args_size, end))
      return false;
    end = params[kernel->param_count].offset + params[kernel->param_count].size;
  }
  return read_char(reader, '\n');
}

static size_t occurrences(const char *text, char wanted) {
  size_t count = 0;
  for (; *text; text++)
    count += *text == wanted;
  return count;
}

static int allocate(struct manifest *manifest, const char *text) {
  /* Every kernel ends its line and every parameter stands behind a space: upper bounds both. */
  manifest->count = 0;
  manifest->kernels = calloc(occurrences(text, '\n') + 1, sizeof *manifest->kernels);
  manifest->params = calloc(occurrences(text, ' ') + 1, sizeof *manifest->params);
  if (manifest->kernels && manifest->params)
    return OFFLOADC_SUCCESS;
  offloadc_manifest_free(manifest);
  return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while reading a device image's kernel table");
}

int offloadc_manifest_parse(struct manifest *manifest, const char *text, const char *arch) {
  int status = allocate(manifest, text);
  if (status)
    return status;
  struct reader reader = {text, manifest->params};
  while (*reader.at) {
    /* A line without its end is refused by read_kernel, but counts as one for `kernels`. */
    if (!read_kernel(&reader, &manifest->kernels[manifest->count])) {
      size_t line = manifest->count + 1;
      offloadc_manifest_free(manifest);
      return offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE,
                           "the kernel table of this program's %s image is corrupt at line %zu; rebuild the program",
                           arch, line);
    }
    manifest->count++;
  }
  return OFFLOADC_SUCCESS;
}

void offloadc_manifest_free(struct manifest *manifest) {
  free(manifest->kernels);
  free(manifest->params);
  *manifest = (struct manifest){0};
}

const struct kernel *offloadc_manifest_find(const struct manifest *manifest, const char *name, size_t size) {
  for (size_t i = 0; i < manifest->count; i++)
    if (manifest->kernels[i].name_size == size && !memcmp(manifest->kernels[i].name, name, size))
      return &manifest->kernels[i];
  return NULL;
}
