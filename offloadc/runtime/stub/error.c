#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[2048];

int offloadc_fail(enum offloadc_status status, const char *format, ...) {
  char text[sizeof last_error];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  memcpy(last_error, text, sizeof text);
  return status;
}

/* One write, so that lines of several threads do not mix. */
void offloadc_warn(const char *format, ...) {
  char text[sizeof last_error];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fprintf(stderr, "offloadc: warning: %s\n", text);
}

const char *offloadc_last_error(void) { return last_error; }
