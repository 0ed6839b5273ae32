#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char CUT[] = "...";

void offloadc_text_add(struct text *text, const char *format, ...) {
  size_t room = sizeof text->data - text->length;
  va_list list;
  va_start(list, format);
  int need = vsnprintf(text->data + text->length, room, format, list);
  va_end(list);
  if (need < 0)
    return;
  if ((size_t)need < room) {
    text->length += (size_t)need;
    return;
  }
  text->length = sizeof text->data - 1;
  memcpy(text->data + sizeof text->data - sizeof CUT, CUT, sizeof CUT);
}
