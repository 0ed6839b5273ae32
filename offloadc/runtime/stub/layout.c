#include "layout.h"

#include <string.h>

/* Every base is a multiple of 16, so only what is aligned above moves with it. */
enum { BASE_ALIGN = 16 };

uint32_t offloadc_param_base(unsigned capability) {
  /* Seen in the cubins that ptxas 13 makes for each of these. */
  static const struct {
    unsigned first, last;
    uint32_t base;
  } GENERATIONS[] = {
      {70, 89, 0x160}, /* Volta, Turing, Ampere, Ada */
      {90, 90, 0x210}, /* Hopper */
      {100, 110, 0x380}, /* Blackwell, Thor */
    {120, 121, 0x380}, /* Blackwell RTX */
  };
  for (size_t i = 0; i < sizeof GENERATIONS / sizeof *GENERATIONS; i++)
    if (capability >= GENERATIONS[i].first && capability <= GENERATIONS[i].last)
      return GENERATIONS[i].base;
  return 0;
}

bool offloadc_needs_param_base(const struct kernel *kernel) {
  for (uint32_t i = 0; i < kernel->param_count; i++)
    if (kernel->params[i].align > BASE_ALIGN)
      return true;
  return false;
}

uint32_t offloadc_place_from_base(const struct kernel *kernel, uint32_t base, struct param *placed) {
  uint32_t end = base;
  for (uint32_t i = 0; i < kernel->param_count; i++) {
    uint32_t align = kernel->params[i].align ? kernel->params[i].align : 1;
    uint32_t address = (end + align - 1) & ~(align - 1);
    placed[i] = (struct param){address - base, kernel->params[i].size, align};
    end = address + kernel->params[i].size;
    if (end - base > MAX_ARGS_SIZE)
      return UINT32_MAX;
  }
  return end - base;
}

void offloadc_pack(unsigned char *buffer, uint32_t args_size, const struct param *params, uint32_t count,
                   void *const *args) {
  memset(buffer, 0, args_size);
  for (uint32_t i = 0; i < count; i++)
    memcpy(buffer + params[i].offset, args[i], params[i].size);
}
