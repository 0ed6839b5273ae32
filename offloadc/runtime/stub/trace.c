#include "trace.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool offloadc_tracing(void) {
  static _Atomic int known; /* 0: not yet asked */
  int value = atomic_load_explicit(&known, memory_order_relaxed);
  if (!value) {
    const char *text = getenv("OFFLOADC_TRACE");
    value = text && *text && strcmp(text, "0") ? 1 : -1;
    atomic_store_explicit(&known, value, memory_order_relaxed);
  }
  return value > 0;
}

static void print(const struct device *device, int status, const char *call) {
  fprintf(stderr, "offloadc: trace: %s on %s (%s) -> %s\n", call, device->label, device->info.arch,
          status ? offloadc_last_error() : "ok");
}

int offloadc_trace(const struct device *device, int status, const char *format, ...) {
  if (offloadc_tracing()) {
    char call[256];
    va_list list;
    va_start(list, format);
    vsnprintf(call, sizeof call, format, list);
    va_end(list);
    print(device, status, call);
  }
  return status;
}

static void add_args(struct text *text, const struct resolved_kernel *kernel) {
  offloadc_text_add(text, " args=%u[", kernel->args_size);
  for (uint32_t i = 0; i < kernel->kernel->param_count; i++)
    offloadc_text_add(text, "%s%u:%u", i ? " " : "", kernel->params[i].offset, kernel->params[i].size);
  offloadc_text_add(text, "]");
}

int offloadc_trace_launch(const struct device *device, int status, const struct resolved_kernel *kernel,
                          const struct launch *launch) {
  if (offloadc_tracing()) {
    struct text text = {.length = 0};
    offloadc_text_add(&text, "launch %s image=\"", kernel->name);
    offloadc_image_describe(kernel->unit->image, &text);
    offloadc_text_add(&text, "\" grid=%u,%u,%u block=%u,%u,%u shared=%zu", launch->grid.x, launch->grid.y,
                      launch->grid.z, launch->block.x, launch->block.y, launch->block.z, launch->shared_bytes);
    add_args(&text, kernel);
    print(device, status, text.data);
  }
  return status;
}
