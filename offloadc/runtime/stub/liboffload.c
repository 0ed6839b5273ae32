#define _GNU_SOURCE
#include "liboffload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { KNOWN_MAJOR = 22 };

static const char *const NAMES[] = {
    "libLLVMOffload.so.22.1",
    "libLLVMOffload.so.22",
    "/usr/lib/llvm-22/lib/libLLVMOffload.so.22.1",
    "/usr/lib/llvm-22/lib/libLLVMOffload.so",
    "libLLVMOffload.so",
};

/* glibc leaves addresses in the dynamic section, other linkers offsets. */
static const char *dynamic_strings(const struct link_map *map, ElfW(Addr) value) {
  return (const char *)(value < map->l_addr ? map->l_addr + value : value);
}

static const char *soname(void *library) {
  struct link_map *map;
  const char *strings = NULL;
  ElfW(Xword) offset = 0;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map))
    return "";
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_STRTAB)
      strings = dynamic_strings(map, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME)
      offset = entry->d_un.d_val;
  }
  return strings && offset ? strings + offset : "";
}

/* The API's own version is 0.0.1 in every release although signatures change (LLVM 23 passes
 * olLaunchKernel arrays of pointers), so the library's name is what tells the release. */
static int check_version(void *library, const char *path) {
  static const char STEM[] = "libLLVMOffload.so.";
  const char *name = soname(library);
  const char *version = strncmp(name, STEM, strlen(STEM)) ? "" : name + strlen(STEM);
  char *end;
  unsigned long major = strtoul(version, &end, 10);
  if (major == KNOWN_MAJOR && (*end == '.' || *end == 0))
    return OFFLOADC_SUCCESS;
  return offloadc_fail(OFFLOADC_ERROR_VERSION,
                       "%s is %s%s, but this program needs LLVM %d's liboffload (libLLVMOffload.so.%d.1): other "
                       "releases pass kernel arguments differently; install liboffload-%d or set OFFLOADC_LIBOFFLOAD "
                       "to it",
                       path, *name ? name : "no liboffload", *version || !*name ? "" : " without a version",
                       KNOWN_MAJOR, KNOWN_MAJOR, KNOWN_MAJOR);
}

static int resolve(void *library, const char *path, struct offload_api *api) {
  static const struct {
    const char *name;
    size_t place;
  } FUNCTIONS[] = {
#define OFFLOADC_API_PLACE(RESULT, NAME, ARGUMENTS) {#NAME, offsetof(struct offload_api, NAME)},
      OFFLOADC_API_FUNCTIONS(OFFLOADC_API_PLACE)
#undef OFFLOADC_API_PLACE
  };
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
    void *address = dlsym(library, FUNCTIONS[i].name);
    if (!address)
      return offloadc_fail(OFFLOADC_ERROR_VERSION, "%s lacks %s; reinstall liboffload-%d", path, FUNCTIONS[i].name,
                           KNOWN_MAJOR);
    memcpy((char *)api + FUNCTIONS[i].place, &address, sizeof address); /* ISO C has no cast for it */
  }
  return OFFLOADC_SUCCESS;
}

static int use(void *library, const char *path, struct offload_api *api) {
  int status = check_version(library, path);
  return status ? status : resolve(library, path, api);
}

/* Of several attempts, the reason worth telling is one that names another file: a library that is there but
 * lacks something. The first attempt's stands until such a one comes. */
static void keep_reason(char *reason, size_t size, const char *name) {
  const char *text = dlerror();
  if (text && (!*reason || strncmp(text, name, strlen(name))))
    snprintf(reason, size, "%s", text);
}

int offloadc_liboffload_load(struct offload_api *api) {
  const char *chosen = getenv("OFFLOADC_LIBOFFLOAD");
  void *library = NULL;
  if (chosen && *chosen) {
    library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return offloadc_fail(OFFLOADC_ERROR_VERSION, "OFFLOADC_LIBOFFLOAD=%s cannot be loaded: %s", chosen, dlerror());
    return use(library, chosen, api);
  }
  char reason[256] = "";
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    if ((library = dlopen(NAMES[i], RTLD_NOW | RTLD_LOCAL)))
      return use(library, NAMES[i], api);
    keep_reason(reason, sizeof reason, NAMES[i]);
  }
  return offloadc_fail(OFFLOADC_ERROR_NO_DEVICE,
                       "liboffload, through which GPUs are reached, is not installed or cannot be loaded (%s); install "
                       "liboffload-%d or set OFFLOADC_LIBOFFLOAD to it",
                       reason, KNOWN_MAJOR);
}
