/* Reads bundles from stdin, each behind its size as 8 bytes, and prints what the parser makes of them.
 * Bundles are parsed in a block of exactly their size, so that AddressSanitizer sees every byte too far. */
#include "images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long sum(const struct image *image) {
  unsigned long total = 0;
  for (size_t i = 0; i < image->size; i++)
    total = total * 31 + image->data[i];
  return total;
}

/* Names may hold anything: a line of output stays one. */
static const char *shown(const char *text) {
  static char buffers[4][256];
  static unsigned next;
  char *buffer = buffers[next++ % 4];
  snprintf(buffer, sizeof buffers[0], "%s", text);
  for (char *at = buffer; *at; at++)
    *at = *at < ' ' ? '?' : *at;
  return buffer;
}

int main(void) {
  uint64_t size;
  while (fread(&size, sizeof size, 1, stdin) == 1) {
    unsigned char *bytes = malloc(size ? size : 1);
    struct images images = {0};
    if (fread(bytes, 1, size, stdin) != size)
      return 1;
    int status = offloadc_images_parse(&images, bytes, bytes + size);
    printf("%d %zu %s\n", status, images.count, status ? offloadc_last_error() : "");
    for (size_t i = 0; i < images.count; i++)
      printf("  %u|%s|%s|%s|%zu|%lu|%zu\n", images.items[i].kind, shown(images.items[i].triple),
             shown(images.items[i].arch), shown(images.items[i].unit), images.items[i].size,
             sum(&images.items[i]), strlen(images.items[i].kernels));
    free(images.items);
    free(bytes);
  }
  return 0;
}
