/* Text of bounded size: what does not fit is cut, and the cut shows. */
#ifndef OFFLOADC_STUB_TEXT_H
#define OFFLOADC_STUB_TEXT_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

struct text {
  size_t length;
  char data[2048];
};

void offloadc_text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#endif
