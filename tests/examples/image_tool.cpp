// image_tool FILE...: prints each picture's size and grey values in hexadecimal, or its error.
// image_tool --rewrite IN OUT: reads IN and writes it as PNG.
#include "image.hpp"

#include <cstdio>
#include <cstring>

namespace {

void print(const char *path) {
  try {
    const image::Grey picture = image::read(path);
    std::printf("%zu %zu ", picture.width, picture.height);
    for (const std::uint8_t pixel : picture.pixels) std::printf("%02x", static_cast<unsigned>(pixel));
    std::printf("\n");
  } catch (const std::runtime_error &error) {
    std::printf("error: %s\n", error.what());
  }
}

void rewrite(const char *from, const char *to) {
  const image::Grey grey = image::read(from);
  image::Rgb colour{grey.width, grey.height, {}};
  for (const std::uint8_t pixel : grey.pixels) colour.pixels.insert(colour.pixels.end(), {pixel, pixel, pixel});
  image::write_png(to, colour);
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 4 && std::strcmp(argv[1], "--rewrite") == 0) {
    rewrite(argv[2], argv[3]);
    return 0;
  }
  for (int i = 1; i < argc; ++i) print(argv[i]);
}
