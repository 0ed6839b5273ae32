#include "program.h"

#include <pthread.h>
#include <stdio.h>

#include "error.h"

/* The linker defines these when the sections exist; a program without kernels has neither. */
#define SECTION_BOUND __attribute__((weak, visibility("hidden")))
extern const offloadc_image_record __start_offloadc_images[] SECTION_BOUND;
extern const offloadc_image_record __stop_offloadc_images[] SECTION_BOUND;
extern const struct offload_entry __start_llvm_offload_entries[] SECTION_BOUND;
extern const struct offload_entry __stop_llvm_offload_entries[] SECTION_BOUND;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct program program;
static int read_status;
static char read_error[512];

static int read_images(void) {
  int status = OFFLOADC_SUCCESS;
  for (const offloadc_image_record *r = __start_offloadc_images; r < __stop_offloadc_images && !status; r++)
    status = offloadc_images_parse(&program.images, r->begin, r->end);
  return status;
}

static void read_program(void) {
  read_status = read_images();
  if (!read_status)
    read_status =
        offloadc_entries_build(&program.entries, __start_llvm_offload_entries, __stop_llvm_offload_entries);
  if (read_status)
    snprintf(read_error, sizeof read_error, "%s", offloadc_last_error());
}

int offloadc_program(const struct program **out) {
  pthread_once(&once, read_program);
  *out = &program;
  return read_status ? offloadc_fail(read_status, "%s", read_error) : OFFLOADC_SUCCESS;
}
