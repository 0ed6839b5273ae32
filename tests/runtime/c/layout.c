/* For each line CAPABILITY MANIFEST-LINE of stdin, prints where the parameters lie on that device, the end, and the
 * bytes that offloadc_pack makes: byte b of argument a is 16 a + b. */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static void print_packed(const struct param *params, uint32_t count, uint32_t size) {
  unsigned char *buffer = malloc(size), values[16][256];
  void *args[16];
  for (unsigned a = 0; a < 16; a++) {
    args[a] = values[a];
    for (unsigned b = 0; b < 256; b++)
      values[a][b] = (unsigned char)(16 * a + b);
  }
  memset(buffer, 0xee, size);
  offloadc_pack(buffer, size, params, count, args);
  for (uint32_t i = 0; i < size; i++)
    printf("%02x", buffer[i]);
  printf("\n");
  free(buffer);
}

static void print(const struct kernel *kernel, uint32_t base) {
  struct param *placed = calloc(kernel->param_count + 1, sizeof *placed);
  uint32_t end = base ? offloadc_place_from_base(kernel, base, placed) : kernel->args_size;
  const struct param *params = base ? placed : kernel->params;
  printf("%d", offloadc_needs_param_base(kernel));
  for (uint32_t i = 0; i < kernel->param_count; i++)
    printf(" %u", params[i].offset);
  printf(" end %u ", end);
  if (end <= MAX_ARGS_SIZE)
    print_packed(params, kernel->param_count, end);
  else
    printf("-\n");
  free(placed);
}

int main(void) {
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    char *text;
    unsigned capability = (unsigned)strtoul(line, &text, 10);
    struct manifest manifest;
    if (offloadc_manifest_parse(&manifest, text + 1, "sm_90")) {
      printf("%s\n", offloadc_last_error());
      return 1;
    }
    uint32_t base = capability ? offloadc_param_base(capability) : 0;
    if (capability && !base)
      printf("unknown\n");
    else
      print(&manifest.kernels[0], base);
    offloadc_manifest_free(&manifest);
  }
  return 0;
}
