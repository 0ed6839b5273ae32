#include "entries.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { OFFLOAD_CUDA = 2, OFFLOAD_HIP = 4 }; /* llvm::object::OffloadKind */

static bool is_kernel(const struct offload_entry *entry) {
  return (entry->kind == OFFLOAD_CUDA || entry->kind == OFFLOAD_HIP) && entry->size == 0 && entry->address &&
         entry->name;
}

static size_t slot_of(const struct entries *entries, const void *stub) {
  uint64_t mixed = (uint64_t)(uintptr_t)stub * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
  return (size_t)(mixed >> 32) & (entries->capacity - 1);
}

/* The slot of `stub`, or the free one where it belongs. A quarter of the slots at least is free. */
static struct kernel_entry *probe(const struct entries *entries, const void *stub) {
  size_t slot = slot_of(entries, stub);
  while (entries->slots[slot].stub && entries->slots[slot].stub != stub)
    slot = (slot + 1) & (entries->capacity - 1);
  return &entries->slots[slot];
}

/* clang appends __intern__ and the unit's hash to the host name of a kernel with internal linkage. */
static void split_name(struct kernel_entry *kernel) {
  static const char MARK[] = "__intern__";
  const char *last = NULL;
  for (const char *at = strstr(kernel->host_name, MARK); at; at = strstr(at + 1, MARK))
    last = at;
  const char *hash = last ? last + strlen(MARK) : "";
  bool internal = *hash && hash[strspn(hash, "0123456789abcdef")] == 0;
  kernel->device_name_size = internal ? (size_t)(last - kernel->host_name) : strlen(kernel->host_name);
  kernel->unit = internal ? hash : NULL;
}

static void add(struct entries *entries, const struct offload_entry *entry) {
  struct kernel_entry *kernel = probe(entries, entry->address);
  if (!kernel->stub) {
    kernel->stub = entry->address;
    kernel->host_name = entry->name;
    split_name(kernel);
  } else if (strcmp(kernel->host_name, entry->name)) {
    kernel->folded_with = entry->name;
  }
}

int offloadc_entries_build(struct entries *entries, const struct offload_entry *begin,
                           const struct offload_entry *end) {
  size_t capacity = 16;
  while (capacity < (size_t)(end - begin) * 2)
    capacity *= 2;
  *entries = (struct entries){calloc(capacity, sizeof *entries->slots), capacity};
  if (!entries->slots)
    return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while reading the program's kernels");
  for (const struct offload_entry *entry = begin; entry < end; entry++)
    if (is_kernel(entry))
      add(entries, entry);
  return OFFLOADC_SUCCESS;
}

struct kernel_entry *offloadc_entries_find(const struct entries *entries, const void *stub) {
  struct kernel_entry *kernel = probe(entries, stub);
  return kernel->stub && stub ? kernel : NULL;
}
