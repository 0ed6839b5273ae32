/* For each line ADDRESS KIND SIZE NAME of stdin one offload entry; then prints what the table says of each address
 * from 1 to 99 and of NULL. */
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offloadc/runtime.h"

static void print(const struct entries *entries, uintptr_t address) {
  const struct kernel_entry *kernel = offloadc_entries_find(entries, (const void *)address);
  if (kernel)
    printf("%zu %.*s %s %s\n", (size_t)address, (int)kernel->device_name_size, kernel->host_name,
           kernel->unit ? kernel->unit : "-", kernel->folded_with ? kernel->folded_with : "-");
}

int main(void) {
  static struct offload_entry list[4096];
  static char names[4096][128];
  struct entries entries;
  size_t count = 0, address, size;
  unsigned kind;
  while (count < 4096 && scanf("%zu %u %zu %127s", &address, &kind, &size, names[count]) == 4) {
    list[count] = (struct offload_entry){
        .version = 1, .kind = (uint16_t)kind, .address = (void *)address, .name = names[count], .size = size};
    count++;
  }
  if (offloadc_entries_build(&entries, list, list + count))
    return 1;
  for (uintptr_t a = 0; a < 5000; a++)
    print(&entries, a);
  free(entries.slots);
  return 0;
}
