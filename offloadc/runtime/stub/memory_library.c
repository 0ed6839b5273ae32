#define _GNU_SOURCE
#include "memory_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static bool write_all(int fd, const unsigned char *bytes, size_t size) {
  while (size) {
    ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes += n;
    size -= (size_t)n;
  }
  return true;
}

/* Kernels before 6.3 refuse MFD_EXEC; some of those after it refuse to map code without it. */
static int open_memory_file(const char *label) {
  int fd = memfd_create(label, MFD_CLOEXEC | MFD_EXEC);
  return fd < 0 && errno == EINVAL ? memfd_create(label, MFD_CLOEXEC) : fd;
}

/* The dynamic linker takes an equal path for an object that it already has, but descriptor numbers are
 * used again, also by other copies of this stub in the process. The inode number is not: it is spelled
 * in the path as "/" and "/." which change nothing else. */
static void unique_path(char *path, size_t size, int fd) {
  struct stat info = {0};
  fstat(fd, &info);
  size_t n = (size_t)snprintf(path, size, "/proc/self/fd");
  for (uint64_t bits = info.st_ino; bits && n + 16 < size; bits >>= 1)
    n += (size_t)snprintf(path + n, size - n, bits & 1 ? "/." : "/");
  snprintf(path + n, size - n, "/%d", fd);
}

static void *load_from_memory_file(const char *label, const void *bytes, size_t size) {
  char path[192];
  void *handle = NULL;
  int fd = open_memory_file(label);
  if (fd < 0) {
    offloadc_fail(OFFLOADC_ERROR_DEVICE, "memfd_create: %s", strerror(errno));
    return NULL;
  }
  unique_path(path, sizeof path, fd);
  if (!write_all(fd, bytes, size))
    offloadc_fail(OFFLOADC_ERROR_DEVICE, "writing to memory: %s", strerror(errno));
  else if (!(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
    offloadc_fail(OFFLOADC_ERROR_DEVICE, "%s", dlerror());
  close(fd);
  return handle;
}

/* Where memfd_create or /proc is missing. The file has no name once this returns. */
static void *load_from_temporary_file(const void *bytes, size_t size) {
  char path[4096];
  void *handle = NULL;
  const char *folder = getenv("TMPDIR");
  int need = snprintf(path, sizeof path, "%s/offloadc-XXXXXX", folder && *folder ? folder : "/tmp");
  int fd = need > 0 && (size_t)need < sizeof path ? mkstemp(path) : -1;
  if (fd < 0)
    return NULL;
  if (write_all(fd, bytes, size))
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  close(fd);
  unlink(path);
  return handle;
}

void *offloadc_load_library(const char *label, const void *bytes, size_t size) {
  void *handle = load_from_memory_file(label, bytes, size);
  return handle ? handle : load_from_temporary_file(bytes, size);
}
