/* liboffload's plugins open the unversioned names that only development packages install. */
#ifndef OFFLOADC_STUB_LIBRARY_ALIAS_H
#define OFFLOADC_STUB_LIBRARY_ALIAS_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Where `name` cannot be opened but `versioned` can, makes later dlopen(name) find `versioned`. */
void offloadc_alias_library(const char *name, const char *versioned);

enum { MAX_ALIAS_OBJECT = 1024 };

/* An ELF shared object with DT_SONAME `name`, DT_NEEDED `versioned` and nothing else. Returns its
 * size; 0: names too long. */
size_t offloadc_build_alias(unsigned char object[MAX_ALIAS_OBJECT], const char *name, const char *versioned);

#pragma GCC visibility pop
#endif
