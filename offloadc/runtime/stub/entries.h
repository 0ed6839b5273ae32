/* The kernels of the program by the address of their host stub. */
#ifndef OFFLOADC_STUB_ENTRIES_H
#define OFFLOADC_STUB_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* llvm::offloading::EntryTy, in section llvm_offload_entries. */
struct offload_entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  const void *address;
  const char *name;
  uint64_t size, data;
  const void *auxiliary;
};
_Static_assert(sizeof(struct offload_entry) == 56, "LLVM 22's offload entry");

struct resolved_kernel;

struct kernel_entry {
  const void *stub; /* NULL: a free slot */
  const char *host_name;
  size_t device_name_size; /* the device name is a prefix of the host name */
  const char *unit;        /* of an internal kernel; NULL: any unit's image has it */
  const char *folded_with; /* another kernel with the same stub; NULL: none */
  struct resolved_kernel *_Atomic resolved;
};

struct entries {
  struct kernel_entry *slots;
  size_t capacity; /* a power of two */
};

/* Reads the entries of CUDA and HIP kernels; others (OpenMP, variables) are not launched by stubs. */
int offloadc_entries_build(struct entries *entries, const struct offload_entry *begin,
                           const struct offload_entry *end);

/* NULL: no kernel of this program. Safe from several threads once built. */
struct kernel_entry *offloadc_entries_find(const struct entries *entries, const void *stub);

#pragma GCC visibility pop
#endif
