/* Writes the alias object for two names to stdout. */
#include "library_alias.h"

#include <stdio.h>

int main(int argc, char **argv) {
  unsigned char object[MAX_ALIAS_OBJECT];
  size_t size = argc == 3 ? offloadc_build_alias(object, argv[1], argv[2]) : 0;
  return size && fwrite(object, 1, size, stdout) == size ? 0 : 1;
}
