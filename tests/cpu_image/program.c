/* Launches kernels of blocks.cpp: for debuggers and sanitizers, which fibers must not upset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offloadc/runtime.h"

extern offloadc_cpu_image_t offloadc_cpu_image;

static const offloadc_cpu_kernel *find(const char *name) {
  for (uint32_t i = 0; i < offloadc_cpu_image.kernel_count; i++)
    if (strcmp(offloadc_cpu_image.kernels[i].name, name) == 0) return &offloadc_cpu_image.kernels[i];
  abort();
}

static int check_sums(void) {
  enum { BLOCKS = 40, THREADS = 256 };
  int *in = malloc(sizeof(int) * BLOCKS * THREADS), *out = calloc(BLOCKS, sizeof(int)), bad = 0;
  for (int i = 0; i < BLOCKS * THREADS; i++) in[i] = i % 7;
  void *args[] = {&in, &out};
  offloadc_dim3 grid = {BLOCKS, 1, 1}, block = {THREADS, 1, 1};
  for (int round = 0; round < 3; round++)
    bad |= offloadc_cpu_image.launch(find("sum_static"), args, grid, block, 0);
  for (int b = 0; b < BLOCKS; b++) {
    for (int i = 0; i < THREADS; i++) out[b] -= in[b * THREADS + i];
    bad |= out[b];
  }
  free(in);
  free(out);
  return bad;
}

static int check_leaving(void) {
  enum { THREADS = 40 };
  int *out = calloc(THREADS, sizeof(int)), bad = 0;
  void *args[] = {&out};
  bad |= offloadc_cpu_image.launch(find("leave_early"), args, (offloadc_dim3){1, 1, 1},
                                   (offloadc_dim3){THREADS, 1, 1}, 0);
  for (int i = 0; i < THREADS; i++) bad |= out[i] != THREADS - 1 - i;
  free(out);
  return bad;
}

int main(void) {
  int bad = check_sums() | check_leaving();
  puts(bad ? "wrong" : "right");
  return bad != 0;
}
