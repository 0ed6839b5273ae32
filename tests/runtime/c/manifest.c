/* Reads manifests from stdin, each behind its size as 8 bytes, and prints what the parser makes of them. */
#include "manifest.h"

#include <stdio.h>
#include <stdlib.h>

#include "error.h"

static void print(const struct kernel *kernel) {
  printf("  %.*s %u", (int)kernel->name_size, kernel->name, kernel->args_size);
  for (uint32_t i = 0; i < kernel->param_count; i++)
    printf(" %u:%u:%u", kernel->params[i].offset, kernel->params[i].size, kernel->params[i].align);
  printf("\n");
}

int main(void) {
  uint64_t size;
  while (fread(&size, sizeof size, 1, stdin) == 1) {
    char *text = calloc(1, size + 1);
    struct manifest manifest = {0};
    if (fread(text, 1, size, stdin) != size)
      return 1;
    int status = offloadc_manifest_parse(&manifest, text, "sm_90");
    printf("%d %zu %s\n", status, manifest.count, status ? offloadc_last_error() : "");
    for (size_t i = 0; i < manifest.count; i++) {
      const struct kernel *kernel = &manifest.kernels[i];
      print(kernel);
      if (!offloadc_manifest_find(&manifest, kernel->name, kernel->name_size))
        return 1;
    }
    offloadc_manifest_free(&manifest);
    free(text);
  }
  return 0;
}
