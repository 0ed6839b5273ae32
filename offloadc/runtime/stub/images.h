/* The device images in the program: LLVM offload binaries, version 1, in memory. */
#ifndef OFFLOADC_STUB_IMAGES_H
#define OFFLOADC_STUB_IMAGES_H

#include <stddef.h>

#include "offloadc/runtime.h"
#include "text.h"

#pragma GCC visibility push(hidden)

/* llvm::object::ImageKind; bitcode (2) and fat binaries (4) are never launched. */
enum image_kind { IMAGE_OBJECT = 1, IMAGE_CUBIN = 3, IMAGE_PTX = 5 };

/* Points into the program; strings that the image does not carry are "". */
struct image {
  const unsigned char *data;
  size_t size;
  unsigned kind;
  const char *triple, *arch, *unit, *kernels, *contract;
};

struct images {
  struct image *items;
  size_t count;
};

/* Appends the images between begin and end. Each is at least 72 bytes of input, so memory stays
 * proportional to the input whatever the input says. */
int offloadc_images_parse(struct images *images, const unsigned char *begin, const unsigned char *end);

/* "sm_90 cubin, sm_90 PTX, x86-64": each once, in file order; "none" when there is none. */
void offloadc_images_describe(const struct images *images, struct text *text);
void offloadc_image_describe(const struct image *image, struct text *text);

#pragma GCC visibility pop
#endif
