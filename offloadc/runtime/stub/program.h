/* What the linker collected into this executable or shared object. */
#ifndef OFFLOADC_STUB_PROGRAM_H
#define OFFLOADC_STUB_PROGRAM_H

#include "entries.h"
#include "images.h"

#pragma GCC visibility push(hidden)

struct program {
  struct images images;
  struct entries entries;
};

/* Reads it at the first call. A failure stays: every later call fails alike. */
int offloadc_program(const struct program **out);

#pragma GCC visibility pop
#endif
