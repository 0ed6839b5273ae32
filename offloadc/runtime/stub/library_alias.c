#include "library_alias.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "memory_library.h"

#if defined(__x86_64__)
enum { HOST_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { HOST_MACHINE = EM_AARCH64 };
#elif defined(__powerpc64__)
enum { HOST_MACHINE = EM_PPC64 };
#else
#error "the launch stub does not know this host's ELF machine number"
#endif

enum { MAX_PAGE = 0x10000, NAME_SPACE = 256 };

/* The whole file is one loadable segment at address 0, so file offsets are addresses. The dynamic
 * linker writes into the dynamic section, hence read and write. */
struct alias_object {
  Elf64_Ehdr header;
  Elf64_Phdr load, dynamic_segment, stack;
  Elf64_Dyn dynamic[8];
  Elf64_Sym symbols[1];
  uint32_t hash[4]; /* one bucket and one symbol, the undefined one */
  char names[NAME_SPACE];
};
_Static_assert(sizeof(struct alias_object) <= MAX_ALIAS_OBJECT, "fits the caller's buffer");

static Elf64_Ehdr elf_header(void) {
  return (Elf64_Ehdr){
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_DYN,
      .e_machine = HOST_MACHINE,
      .e_version = EV_CURRENT,
      .e_phoff = offsetof(struct alias_object, load),
      .e_ehsize = sizeof(Elf64_Ehdr),
      .e_phentsize = sizeof(Elf64_Phdr),
      .e_phnum = 3,
      .e_shentsize = sizeof(Elf64_Shdr),
  };
}

static Elf64_Phdr segment(uint32_t type, uint64_t offset, uint64_t size, uint64_t align) {
  return (Elf64_Phdr){type, PF_R | PF_W, offset, offset, offset, size, size, align};
}

static void fill_dynamic(struct alias_object *object, uint64_t soname, uint64_t needed, uint64_t names_size) {
  const Elf64_Dyn dynamic[8] = {
      {DT_NEEDED, {needed}},
      {DT_SONAME, {soname}},
      {DT_HASH, {offsetof(struct alias_object, hash)}},
      {DT_STRTAB, {offsetof(struct alias_object, names)}},
      {DT_SYMTAB, {offsetof(struct alias_object, symbols)}},
      {DT_STRSZ, {names_size}},
      {DT_SYMENT, {sizeof(Elf64_Sym)}},
      {DT_NULL, {0}},
  };
  memcpy(object->dynamic, dynamic, sizeof dynamic);
}

size_t offloadc_build_alias(unsigned char bytes[MAX_ALIAS_OBJECT], const char *name, const char *versioned) {
  size_t name_size = strlen(name) + 1, versioned_size = strlen(versioned) + 1;
  if (1 + name_size + versioned_size > NAME_SPACE)
    return 0;
  struct alias_object object;
  memset(&object, 0, sizeof object);
  object.header = elf_header();
  object.load = segment(PT_LOAD, 0, sizeof object, MAX_PAGE);
  object.dynamic_segment =
      segment(PT_DYNAMIC, offsetof(struct alias_object, dynamic), sizeof object.dynamic, sizeof(uint64_t));
  object.stack = segment(PT_GNU_STACK, 0, 0, 16); /* or the linker makes the stack executable */
  fill_dynamic(&object, 1, 1 + name_size, 1 + name_size + versioned_size);
  object.hash[0] = object.hash[1] = 1;
  memcpy(object.names + 1, name, name_size);
  memcpy(object.names + 1 + name_size, versioned, versioned_size);
  memcpy(bytes, &object, sizeof object);
  return sizeof object;
}

void offloadc_alias_library(const char *name, const char *versioned) {
  unsigned char object[MAX_ALIAS_OBJECT];
  if (dlopen(name, RTLD_NOW | RTLD_LOCAL) || !dlopen(versioned, RTLD_NOW | RTLD_LOCAL))
    return;
  size_t size = offloadc_build_alias(object, name, versioned);
  if (size)
    offloadc_load_library(name, object, size); /* stays loaded; a failure shows as "no device" later */
}
