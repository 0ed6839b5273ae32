#include "images.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

/* llvm/Object/OffloadBinary.h, version 1: a header, one entry, string entries, the image; offsets
 * count from the header. Little endian, as is every host that the stub is built for. */
static const unsigned char MAGIC[4] = {0x10, 0xff, 0x10, 0xad};

struct header {
  unsigned char magic[4];
  uint32_t version;
  uint64_t size, entry_offset, entry_size;
};

struct entry {
  uint16_t image_kind, offload_kind;
  uint32_t flags;
  uint64_t string_offset, string_count, image_offset, image_size;
};

struct string_entry {
  uint64_t key_offset, value_offset;
};

_Static_assert(sizeof(struct header) == 32 && sizeof(struct entry) == 40 && sizeof(struct string_entry) == 16,
               "the layout of the file");

struct binary {
  const unsigned char *data;
  uint64_t size;
};

static bool lies_within(const struct binary *binary, uint64_t offset, uint64_t size) {
  return offset <= binary->size && size <= binary->size - offset;
}

static const char *string_at(const struct binary *binary, uint64_t offset) {
  if (offset >= binary->size || !memchr(binary->data + offset, 0, binary->size - offset))
    return NULL;
  return (const char *)binary->data + offset;
}

static void assign(struct image *image, const char *key, const char *value) {
  struct {
    const char *key, **place;
  } known[] = {
      {"triple", &image->triple},
      {"arch", &image->arch},
      {"offloadc.unit", &image->unit},
      {"offloadc.kernels", &image->kernels},
      {"offloadc.contract", &image->contract},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(key, known[i].key))
      *known[i].place = value;
}

/* What is wrong with the strings, or NULL. */
static const char *read_strings(const struct binary *binary, const struct entry *entry, struct image *image) {
  if (entry->string_count > binary->size / sizeof(struct string_entry) ||
      !lies_within(binary, entry->string_offset, entry->string_count * sizeof(struct string_entry)))
    return "its string entries lie outside of it";
  for (uint64_t i = 0; i < entry->string_count; i++) {
    struct string_entry at;
    memcpy(&at, binary->data + entry->string_offset + i * sizeof at, sizeof at);
    const char *key = string_at(binary, at.key_offset), *value = string_at(binary, at.value_offset);
    if (!key || !value)
      return "a string lies outside of it or does not end";
    assign(image, key, value);
  }
  return NULL;
}

static const char *read_image(const struct binary *binary, const struct header *header, struct image *image) {
  struct entry entry;
  if (header->entry_size < sizeof entry || !lies_within(binary, header->entry_offset, sizeof entry))
    return "its entry lies outside of it";
  memcpy(&entry, binary->data + header->entry_offset, sizeof entry);
  if (!lies_within(binary, entry.image_offset, entry.image_size))
    return "the image lies outside of it";
  *image = (struct image){
      .data = binary->data + entry.image_offset,
      .size = entry.image_size,
      .kind = entry.image_kind,
      .triple = "",
      .arch = "",
      .unit = "",
      .kernels = "",
      .contract = "",
  };
  return read_strings(binary, &entry, image);
}

static const char *read_binary(const unsigned char *at, size_t left, struct image *image, uint64_t *size) {
  struct header header;
  if (left < sizeof header)
    return "it is cut short";
  memcpy(&header, at, sizeof header);
  if (memcmp(header.magic, MAGIC, sizeof MAGIC))
    return "it does not begin as an LLVM offload binary does";
  if (header.version != 1)
    return "its version is not 1";
  if (header.size < sizeof header || header.size > left)
    return "it is cut short";
  *size = header.size;
  return read_image(&(struct binary){at, header.size}, &header, image);
}

static int append(struct images *images, struct image image) {
  bool full = (images->count & (images->count - 1)) == 0; /* grows at powers of two */
  if (full) {
    size_t capacity = images->count ? images->count * 2 : 1;
    struct image *items = realloc(images->items, capacity * sizeof *items);
    if (!items)
      return offloadc_fail(OFFLOADC_ERROR_OUT_OF_MEMORY, "out of memory while reading the program's device images");
    images->items = items;
  }
  images->items[images->count++] = image;
  return OFFLOADC_SUCCESS;
}

int offloadc_images_parse(struct images *images, const unsigned char *begin, const unsigned char *end) {
  const unsigned char *at = begin;
  while (at < end) {
    struct image image;
    uint64_t size;
    const char *wrong = read_binary(at, (size_t)(end - at), &image, &size);
    if (wrong)
      return offloadc_fail(OFFLOADC_ERROR_INVALID_IMAGE,
                           "device image %zu of this program is corrupt: %s (%zu bytes into the bundle); rebuild the "
                           "program",
                           images->count, wrong, (size_t)(at - begin));
    int status = append(images, image);
    if (status)
      return status;
    size_t padding = (size_t)(-size & 7);
    at += (size_t)(end - at) - size < padding ? (size_t)(end - at) : size + padding;
  }
  return OFFLOADC_SUCCESS;
}

static const char *kind_name(unsigned kind) {
  return kind == IMAGE_CUBIN ? " cubin" : kind == IMAGE_PTX ? " PTX" : "";
}

void offloadc_image_describe(const struct image *image, struct text *text) {
  offloadc_text_add(text, "%s%s", *image->arch ? image->arch : "(no arch)", kind_name(image->kind));
}

static bool described_before(const struct images *images, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (images->items[i].kind == images->items[index].kind &&
        !strcmp(images->items[i].arch, images->items[index].arch))
      return true;
  return false;
}

void offloadc_images_describe(const struct images *images, struct text *text) {
  if (!images->count)
    offloadc_text_add(text, "none");
  for (size_t i = 0; i < images->count; i++) {
    if (described_before(images, i))
      continue;
    offloadc_text_add(text, "%s", i ? ", " : "");
    offloadc_image_describe(&images->items[i], text);
  }
}
