#define _GNU_SOURCE
#include "kernels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "error.h"
#include "layout.h"
#include "program.h"

/* Guards images being read and loaded; kernels once resolved are found without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- which image ------------------------------------------------------------------------------------ */
/* An internal kernel is in its own unit's image. Of any other, all copies are alike: the first will do. */
static int find_unit(struct device *device, const struct kernel_entry *entry, struct unit **unit,
                     const struct kernel **kernel) {
  *kernel = NULL;
  for (size_t i = 0; i < device->units.count && !*kernel; i++) {
    *unit = &device->units.items[i];
    if (entry->unit && strcmp(entry->unit, (*unit)->name))
      continue;
    int status = offloadc_unit_find(*unit, entry->host_name, entry->device_name_size, kernel);
    if (status)
      return status;
  }
  return OFFLOADC_SUCCESS;
}

static void describe_searched(const struct device *device, const struct kernel_entry *entry, struct text *text) {
  for (size_t i = 0; i < device->units.count; i++) {
    const struct unit *unit = &device->units.items[i];
    if (!unit->image || (entry->unit && strcmp(entry->unit, unit->name)))
      continue;
    offloadc_text_add(text, "%s", text->length ? ", " : "");
    offloadc_image_describe(unit->image, text);
    offloadc_text_add(text, " of unit %s", *unit->name ? unit->name : "(unnamed)");
  }
}

static int not_found(const struct device *device, const struct kernel_entry *entry) {
  const struct program *program;
  struct text searched = {.length = 0}, all = {.length = 0};
  int status = offloadc_program(&program);
  if (status)
    return status;
  describe_searched(device, entry, &searched);
  offloadc_images_describe(&program->images, &all);
  enum offloadc_status kind = searched.length ? OFFLOADC_ERROR_UNKNOWN_KERNEL : OFFLOADC_ERROR_NO_IMAGE;
  return offloadc_fail(kind,
                       "kernel %.*s has no image for %s (%s, %s); searched: %s; images in the program: %s; rebuild "
                       "%s%.*s",
                       (int)entry->device_name_size, entry->host_name, device->label, device->info.name,
                       device->info.arch, searched.length ? searched.data : "none that fits", all.data,
                       searched.length ? "the program" : "with --offload-arch=",
                       searched.length ? 0 : (int)strcspn(device->info.arch, ":"), device->info.arch);
}

/* ---- where the parameters are ---------------------------------------------------------------------------- */
static int place_for_device(const struct device *device, struct resolved_kernel *kernel) {
  uint32_t base = offloadc_param_base(offloadc_compute_capability(device->arch));
  if (!base)
    return offloadc_fail(OFFLOADC_ERROR_NO_IMAGE,
                         "kernel %s has a parameter aligned above 16 bytes, and where such a parameter of a PTX image "
                         "lies on %s is not known to this version; rebuild with --offload-arch=%s",
                         kernel->name, device->info.arch, device->info.arch);
  struct param *params = calloc(kernel->kernel->param_count, sizeof *params);
  if (!params)
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while preparing kernel %s", kernel->name);
  kernel->params = params;
  kernel->args_size = offloadc_place_from_base(kernel->kernel, base, params);
  if (kernel->args_size <= MAX_ARGS_SIZE)
    return OFFLOADC_SUCCESS;
  return offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE, "the parameters of kernel %s are too large", kernel->name);
}

static int place(const struct device *device, struct resolved_kernel *kernel) {
  kernel->params = kernel->kernel->params;
  kernel->args_size = kernel->kernel->args_size;
  bool moves = kernel->unit->image->kind == IMAGE_PTX && offloadc_needs_param_base(kernel->kernel);
  return moves ? place_for_device(device, kernel) : OFFLOADC_SUCCESS;
}

/* ---- resolving ----------------------------------------------------------------------------------------------- */
static void free_kernel(struct resolved_kernel *kernel) {
  if (kernel->kernel && kernel->params != kernel->kernel->params)
    free((void *)(uintptr_t)kernel->params);
  free(kernel->name);
  free(kernel);
}

static int prepare(struct device *device, const struct kernel_entry *entry, struct resolved_kernel *kernel) {
  struct unit *unit = NULL;
  int status = find_unit(device, entry, &unit, &kernel->kernel);
  if (!status && !kernel->kernel)
    status = not_found(device, entry);
  if (status)
    return status;
  kernel->unit = unit;
  kernel->name = strndup(entry->host_name, entry->device_name_size);
  if (!kernel->name)
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while preparing a kernel");
  status = place(device, kernel);
  if (!status)
    status = device->operations->find_kernel(device, unit, kernel->name, &kernel->handle);
  return status;
}

static int resolve(struct device *device, struct kernel_entry *entry) {
  if (atomic_load(&entry->resolved))
    return OFFLOADC_SUCCESS;
  struct resolved_kernel *kernel = calloc(1, sizeof *kernel);
  if (!kernel)
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while preparing a kernel");
  int status = prepare(device, entry, kernel);
  if (status)
    free_kernel(kernel);
  else
    atomic_store(&entry->resolved, kernel);
  return status;
}

static int find_entry(const void *stub, struct kernel_entry **out) {
  const struct program *program;
  int status = offloadc_program(&program);
  if (status)
    return status;
  *out = offloadc_entries_find(&program->entries, stub);
  if (!*out)
    return offloadc_fail(OFFLOADC_ERROR_UNKNOWN_KERNEL,
                         "%p is no kernel of this program; pass the kernel function itself, compiled by offloadc and "
                         "linked into this executable or shared object",
                         stub);
  if ((*out)->folded_with)
    return offloadc_fail(OFFLOADC_ERROR_UNKNOWN_KERNEL,
                         "the linker folded kernels %s and %s into one; link without --icf=all (--icf=safe is fine)",
                         (*out)->host_name, (*out)->folded_with);
  return OFFLOADC_SUCCESS;
}

int offloadc_find_kernel(struct device *device, const void *stub, const struct resolved_kernel **out) {
  struct kernel_entry *entry;
  int status = find_entry(stub, &entry);
  if (!status && !atomic_load_explicit(&entry->resolved, memory_order_acquire)) {
    pthread_mutex_lock(&lock);
    status = resolve(device, entry);
    pthread_mutex_unlock(&lock);
  }
  if (!status)
    *out = atomic_load_explicit(&entry->resolved, memory_order_acquire);
  return status;
}
