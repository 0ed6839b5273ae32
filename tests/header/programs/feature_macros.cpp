// Feature macros before the first include still work, although the driver includes a file before them.
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#define _TIME_BITS 64
#define __STDC_WANT_IEC_60559_TYPES_EXT__
#include <offloadc/offload.h>

#include <sched.h>
#include <sys/types.h>

#include "check.h"

#ifndef __USE_GNU
#error _GNU_SOURCE came too late
#endif
#ifndef __USE_FILE_OFFSET64
#error _FILE_OFFSET_BITS came too late
#endif

__global__ void kernel(int *p) { *p = 1; }

int main() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0);
  offloadc::buffer<int> p(1);
  offloadc::launch(kernel, 1, 1, p);
  EXPECT(p.to_vector()[0] == 1);
  return passed();
}
