/* What the check of the passes found when the program was built. */
#include "program.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static int is_first_of_its_unit(const struct images *images, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (strcmp(images->items[i].unit, images->items[index].unit) == 0) return 0;
  return 1;
}

const char *offloadc_contract_verdict(void) {
  static char verdict[1024];
  const struct program *program;
  if (offloadc_program(&program) != OFFLOADC_SUCCESS) return "unknown: the images cannot be read";
  size_t used = 0;
  for (size_t i = 0; i < program->images.count && used + 3 < sizeof verdict; i++) {
    const char *contract = program->images.items[i].contract;
    if (!is_first_of_its_unit(&program->images, i) || *contract == '\0') continue;
    const size_t room = sizeof verdict - used - 3, length = strlen(contract);
    if (used) {
      memcpy(verdict + used, "; ", 2);
      used += 2;
    }
    const size_t taken = length < room ? length : room;
    memcpy(verdict + used, contract, taken);
    used += taken;
  }
  verdict[used] = '\0';
  return used ? verdict : "not checked: the program has no device images";
}
