/* For each line DEVICE-KIND DEVICE-ARCH KIND/TRIPLE/ARCH... of stdin, prints the number of the chosen image, or -. */
#include "choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct image parse(char *word) {
  char *triple = strchr(word, '/');
  *triple++ = 0;
  char *arch = strchr(triple, '/');
  *arch++ = 0;
  return (struct image){.kind = (unsigned)atoi(word), .triple = triple, .arch = arch, .unit = "", .kernels = ""};
}

int main(void) {
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    struct image items[32];
    struct images images = {items, 0};
    enum offloadc_device_kind kind = (enum offloadc_device_kind)atoi(strtok(line, " \n"));
    const char *arch = strtok(NULL, " \n");
    for (char *word; (word = strtok(NULL, " \n"));)
      items[images.count++] = parse(word);
    const struct image *chosen = offloadc_choose(&images, "", kind, arch);
    if (chosen)
      printf("%td\n", chosen - items);
    else
      printf("-\n");
  }
  return 0;
}
