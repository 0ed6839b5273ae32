// Reads grey or colour pictures (PGM, PPM, PNG) as one grey channel; writes PNG. No library needed.
//
// Formats as in the PNG specification, third edition (W3C), RFC 1950 (zlib), RFC 1951 (deflate)
// and Netpbm's pgm(5), ppm(5). Every size from a file is checked before it is used.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace image {

using Bytes = std::vector<std::uint8_t>;

struct Grey {
  std::size_t width = 0, height = 0;
  Bytes pixels;
};

struct Rgb {
  std::size_t width = 0, height = 0;
  Bytes pixels; // red, green, blue
};

constexpr std::size_t max_side = 16384;
constexpr std::size_t max_file_bytes = std::size_t{1} << 28;

[[noreturn]] inline void fail(const std::string &what) { throw std::runtime_error(what); }

// ITU-R BT.601 luma in integers, as most converters use it.
inline std::uint8_t luma(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((299 * red + 587 * green + 114 * blue + 500) / 1000);
}

inline void check_size(std::size_t width, std::size_t height) {
  if (width == 0 || height == 0) fail("the picture is empty");
  if (width > max_side || height > max_side)
    fail("the picture is larger than " + std::to_string(max_side) + " pixels a side");
}

// ---------------------------------------------------------------------------- deflate (RFC 1951)
namespace deflate {

class BitReader {
public:
  BitReader(const std::uint8_t *data, std::size_t size) : data_(data), size_(size) {}

  unsigned bit() {
    if (position_ / 8 >= size_) fail("compressed data ends early");
    const unsigned value = (data_[position_ / 8] >> (position_ % 8)) & 1u;
    ++position_;
    return value;
  }

  unsigned bits(unsigned count) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }

  void align() { position_ = (position_ + 7) / 8 * 8; }

private:
  const std::uint8_t *data_;
  std::size_t size_;
  std::size_t position_ = 0; // in bits
};

constexpr unsigned max_code_length = 15;

// A canonical Huffman code: how many codes each length has, and the symbols ordered by code.
class Huffman {
public:
  Huffman(const std::uint8_t *lengths, std::size_t count) : symbols_(count) {
    for (std::size_t i = 0; i < count; ++i) ++counts_[lengths[i]];
    counts_[0] = 0;
    refuse_oversubscribed();
    std::array<std::uint16_t, max_code_length + 2> next{};
    for (unsigned length = 1; length <= max_code_length; ++length)
      next[length + 1] = static_cast<std::uint16_t>(next[length] + counts_[length]);
    for (std::size_t i = 0; i < count; ++i)
      if (lengths[i] != 0) symbols_[next[lengths[i]]++] = static_cast<std::uint16_t>(i);
  }

  unsigned decode(BitReader &in) const {
    unsigned code = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= max_code_length; ++length) {
      code |= in.bit();
      const unsigned here = counts_[length];
      if (code < first + here) return symbols_[index + code - first];
      index += here;
      first = (first + here) << 1;
      code <<= 1;
    }
    fail("compressed data holds a code that stands for nothing");
  }

private:
  void refuse_oversubscribed() const {
    int left = 1;
    for (unsigned length = 1; length <= max_code_length; ++length) {
      left = 2 * left - counts_[length];
      if (left < 0) fail("compressed data holds an impossible Huffman code");
    }
  }

  std::array<std::uint16_t, max_code_length + 1> counts_{};
  std::vector<std::uint16_t> symbols_;
};

// Base value and extra bits of length symbols 257..285 and distance symbols 0..29 (RFC 1951, 3.2.5).
struct Extra {
  std::uint16_t base;
  std::uint8_t bits;
};

constexpr std::array<Extra, 29> lengths{
    {{3, 0},  {4, 0},  {5, 0},  {6, 0},  {7, 0},  {8, 0},  {9, 0},   {10, 0},  {11, 1},  {13, 1},
     {15, 1}, {17, 1}, {19, 2}, {23, 2}, {27, 2}, {31, 2}, {35, 3},  {43, 3},  {51, 3},  {59, 3},
     {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};
constexpr std::array<Extra, 30> distances{
    {{1, 0},      {2, 0},      {3, 0},     {4, 0},     {5, 1},     {7, 1},      {9, 2},      {13, 2},
     {17, 3},     {25, 3},     {33, 4},    {49, 4},    {65, 5},    {97, 5},     {129, 6},    {193, 6},
     {257, 7},    {385, 7},    {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
     {4097, 11},  {6145, 11},  {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

class Inflater {
public:
  // Refuses data that inflates to more than `limit` bytes.
  Inflater(const std::uint8_t *data, std::size_t size, std::size_t limit) : in_(data, size), limit_(limit) {}

  Bytes run() {
    bool last = false;
    while (!last) {
      last = in_.bit() != 0;
      block(in_.bits(2));
    }
    return std::move(out_);
  }

private:
  void block(unsigned type) {
    if (type == 0) return stored();
    if (type == 1) return fixed();
    if (type == 2) return dynamic();
    fail("compressed data holds a block of a reserved type");
  }

  void put(std::uint8_t byte) {
    if (out_.size() >= limit_) fail("compressed data holds more than the picture needs");
    out_.push_back(byte);
  }

  void stored() {
    in_.align();
    const unsigned size = in_.bits(16);
    if ((in_.bits(16) ^ 0xffffu) != size) fail("compressed data holds a damaged stored block");
    for (unsigned i = 0; i < size; ++i) put(static_cast<std::uint8_t>(in_.bits(8)));
  }

  void fixed() {
    std::array<std::uint8_t, 288> literal;
    for (std::size_t i = 0; i < literal.size(); ++i)
      literal[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    std::array<std::uint8_t, 30> distance;
    distance.fill(5);
    coded(Huffman(literal.data(), literal.size()), Huffman(distance.data(), distance.size()));
  }

  void dynamic() {
    const std::size_t literals = in_.bits(5) + 257, distance_codes = in_.bits(5) + 1;
    const std::vector<std::uint8_t> all = code_lengths(literals + distance_codes);
    coded(Huffman(all.data(), literals), Huffman(all.data() + literals, distance_codes));
  }

  std::vector<std::uint8_t> code_lengths(std::size_t count) {
    constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint8_t, 19> meta{};
    const unsigned present = in_.bits(4) + 4;
    for (unsigned i = 0; i < present; ++i) meta[order[i]] = static_cast<std::uint8_t>(in_.bits(3));
    const Huffman code(meta.data(), meta.size());
    std::vector<std::uint8_t> all;
    while (all.size() < count) {
      const unsigned symbol = code.decode(in_);
      if (symbol < 16) all.push_back(static_cast<std::uint8_t>(symbol));
      else repeat(all, symbol);
    }
    if (all.size() > count) fail("compressed data holds too many code lengths");
    return all;
  }

  void repeat(std::vector<std::uint8_t> &all, unsigned symbol) {
    if (symbol == 16 && all.empty()) fail("compressed data repeats a code length before the first");
    const std::uint8_t value = symbol == 16 ? all.back() : std::uint8_t{0};
    const unsigned times = symbol == 16 ? 3 + in_.bits(2) : symbol == 17 ? 3 + in_.bits(3) : 11 + in_.bits(7);
    all.insert(all.end(), times, value);
  }

  void coded(const Huffman &literal, const Huffman &distance) {
    for (unsigned symbol = literal.decode(in_); symbol != 256; symbol = literal.decode(in_)) {
      if (symbol < 256) put(static_cast<std::uint8_t>(symbol));
      else copy(symbol - 257, distance);
    }
  }

  void copy(unsigned length_symbol, const Huffman &distance) {
    if (length_symbol >= lengths.size()) fail("compressed data holds a reserved length");
    const unsigned length = lengths[length_symbol].base + in_.bits(lengths[length_symbol].bits);
    const unsigned symbol = distance.decode(in_);
    if (symbol >= distances.size()) fail("compressed data holds a reserved distance");
    const std::size_t back = distances[symbol].base + in_.bits(distances[symbol].bits);
    if (back > out_.size()) fail("compressed data points before its beginning");
    for (unsigned i = 0; i < length; ++i) put(out_[out_.size() - back]);
  }

  BitReader in_;
  std::size_t limit_;
  Bytes out_;
};

} // namespace deflate

// ---------------------------------------------------------------------------- check sums
inline std::uint32_t crc32(const std::uint8_t *data, std::size_t size) {
  std::uint32_t crc = 0xffffffffu;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

inline std::uint32_t adler32(const Bytes &data) {
  std::uint32_t low = 1, high = 0;
  for (const std::uint8_t byte : data) {
    low = (low + byte) % 65521u;
    high = (high + low) % 65521u;
  }
  return (high << 16) | low;
}

inline std::uint32_t big_endian(const std::uint8_t *p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}

// ---------------------------------------------------------------------------- PNG, reading
namespace png {

constexpr std::array<std::uint8_t, 8> signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

struct Header {
  std::size_t width = 0, height = 0;
  std::size_t channels = 0;
};

struct Chunks {
  Header header;
  Bytes data; // all IDAT chunks, one zlib stream
};

inline Header read_header(const std::uint8_t *body, std::size_t size) {
  if (size != 13) fail("IHDR has a wrong size");
  Header header{big_endian(body), big_endian(body + 4), 0};
  check_size(header.width, header.height);
  if (body[8] != 8) fail("only 8 bits a channel can be read, this PNG has " + std::to_string(body[8]));
  switch (body[9]) {
  case 0: header.channels = 1; break;
  case 2: header.channels = 3; break;
  case 4: header.channels = 2; break;
  case 6: header.channels = 4; break;
  default: fail("only grey and RGB PNGs can be read, this one has colour type " + std::to_string(body[9]));
  }
  if (body[10] != 0 || body[11] != 0) fail("unknown compression or filter method");
  if (body[12] != 0) fail("interlaced PNGs cannot be read; save it without interlacing");
  return header;
}

inline Chunks read_chunks(const Bytes &file) {
  Chunks found;
  std::size_t at = signature.size();
  bool first = true;
  while (true) {
    if (file.size() - at < 12) fail("the PNG ends early");
    const std::size_t size = big_endian(&file[at]);
    if (size > file.size() - at - 12) fail("the PNG ends early");
    const std::uint8_t *body = &file[at] + 8;
    if (crc32(&file[at + 4], size + 4) != big_endian(body + size)) fail("the PNG is damaged: a chunk's CRC is wrong");
    const std::string type(&file[at + 4], &file[at + 8]);
    if (first != (type == "IHDR")) fail("IHDR is not the first chunk, or stands twice");
    if (first) found.header = read_header(body, size);
    if (type == "IDAT") found.data.insert(found.data.end(), body, body + size);
    if (type == "IEND") return found;
    first = false;
    at += size + 12;
  }
}

inline Bytes inflate_zlib(const Bytes &data, std::size_t expected) {
  if (data.size() < 6 || (data[0] & 15) != 8 || (data[0] * 256u + data[1]) % 31 != 0 || (data[1] & 32) != 0)
    fail("the PNG's pixel data is no zlib stream");
  Bytes out = deflate::Inflater(data.data() + 2, data.size() - 6, expected).run();
  if (out.size() != expected) fail("the PNG holds fewer pixels than it says");
  if (adler32(out) != big_endian(data.data() + data.size() - 4)) fail("the PNG's pixel data is damaged");
  return out;
}

inline std::uint8_t paeth(int left, int up, int corner) {
  const int estimate = left + up - corner;
  const int by_left = std::abs(estimate - left), by_up = std::abs(estimate - up);
  const int by_corner = std::abs(estimate - corner);
  if (by_left <= by_up && by_left <= by_corner) return static_cast<std::uint8_t>(left);
  return static_cast<std::uint8_t>(by_up <= by_corner ? up : corner);
}

// Undoes one row's filter in place. `above` is the row before it, zeros for the first.
inline void unfilter(unsigned filter, std::uint8_t *row, const std::uint8_t *above, std::size_t size,
                     std::size_t step) {
  if (filter > 4) fail("the PNG uses an unknown filter");
  for (std::size_t i = 0; i < size; ++i) {
    const int left = i < step ? 0 : row[i - step], up = above[i], corner = i < step ? 0 : above[i - step];
    int guess = 0;
    if (filter == 1) guess = left;
    if (filter == 2) guess = up;
    if (filter == 3) guess = (left + up) / 2;
    if (filter == 4) guess = paeth(left, up, corner);
    row[i] = static_cast<std::uint8_t>(row[i] + guess);
  }
}

inline Grey read(const Bytes &file) {
  const Chunks chunks = read_chunks(file);
  const auto [width, height, channels] = chunks.header;
  const std::size_t row_bytes = width * channels;
  Bytes raw = inflate_zlib(chunks.data, height * (row_bytes + 1));
  Grey picture{width, height, Bytes(width * height)};
  const Bytes zeros(row_bytes);
  const std::uint8_t *above = zeros.data();
  for (std::size_t y = 0; y < height; ++y) {
    std::uint8_t *row = &raw[y * (row_bytes + 1)] + 1;
    unfilter(row[-1], row, above, row_bytes, channels);
    for (std::size_t x = 0; x < width; ++x) {
      const std::uint8_t *p = row + x * channels;
      picture.pixels[y * width + x] = channels < 3 ? p[0] : luma(p[0], p[1], p[2]);
    }
    above = row;
  }
  return picture;
}

} // namespace png

// ---------------------------------------------------------------------------- PGM and PPM
namespace pnm {

class Reader {
public:
  explicit Reader(const Bytes &file) : file_(file) {}

  Grey read() {
    const std::uint8_t kind = file_[1];
    const std::size_t channels = kind == '3' || kind == '6' ? 3 : 1;
    const bool text = kind == '2' || kind == '3';
    const std::size_t width = number(max_side), height = number(max_side);
    check_size(width, height);
    top_ = number(255);
    if (top_ == 0) fail("the largest grey value is 0");
    if (!text) ++at_; // pgm(5): a single whitespace character stands before the raster
    const std::size_t samples = width * height * channels;
    const std::size_t least = text ? 2 * samples - 1 : samples; // text: a digit and a space each
    if (at_ > file_.size() || file_.size() - at_ < least) fail("the picture ends early");
    Grey picture{width, height, Bytes(width * height)};
    for (std::uint8_t &pixel : picture.pixels) pixel = channels == 1 ? sample(text) : colour(text);
    return picture;
  }

private:
  std::uint8_t colour(bool text) {
    const unsigned red = sample(text), green = sample(text), blue = sample(text);
    return luma(red, green, blue);
  }

  std::uint8_t sample(bool text) {
    const std::size_t value = text ? number(top_) : file_[at_++];
    if (value > top_) fail("a grey value is above the largest that the file states");
    return static_cast<std::uint8_t>((value * 255 + top_ / 2) / top_);
  }

  void skip_space() {
    while (at_ < file_.size() && (std::isspace(file_[at_]) != 0 || file_[at_] == '#')) {
      if (file_[at_] == '#')
        while (at_ < file_.size() && file_[at_] != '\n') ++at_;
      else ++at_;
    }
  }

  std::size_t number(std::size_t limit) {
    skip_space();
    if (at_ >= file_.size()) fail("the picture ends early");
    if (std::isdigit(file_[at_]) == 0) fail("a number is missing at byte " + std::to_string(at_));
    std::size_t value = 0;
    while (at_ < file_.size() && std::isdigit(file_[at_]) != 0) {
      value = value * 10 + (file_[at_++] - std::size_t{'0'});
      if (value > limit) fail("a number is above " + std::to_string(limit) + " at byte " + std::to_string(at_));
    }
    return value;
  }

  const Bytes &file_;
  std::size_t at_ = 2; // behind "P5"
  std::size_t top_ = 255;
};

} // namespace pnm

// ---------------------------------------------------------------------------- files
inline Bytes read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot be opened");
  Bytes bytes;
  std::array<char, 1 << 16> part;
  while (in.read(part.data(), part.size()) || in.gcount() > 0) {
    bytes.insert(bytes.end(), part.data(), part.data() + in.gcount());
    if (bytes.size() > max_file_bytes) fail("the file is larger than 256 MiB");
  }
  if (in.bad()) fail("cannot be read");
  return bytes;
}

// Throws std::runtime_error whose text names the file.
inline Grey read(const std::string &path) {
  try {
    const Bytes file = read_file(path);
    if (file.size() >= png::signature.size() && std::equal(png::signature.begin(), png::signature.end(), file.begin()))
      return png::read(file);
    if (file.size() > 2 && file[0] == 'P' && std::strchr("2356", file[1]) != nullptr && file[1] != 0)
      return pnm::Reader(file).read();
    fail("neither PGM, PPM nor PNG");
  } catch (const std::runtime_error &error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// ---------------------------------------------------------------------------- PNG, writing
namespace png {

inline void put32(Bytes &out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

inline void put_chunk(Bytes &out, const char *type, const Bytes &body) {
  put32(out, static_cast<std::uint32_t>(body.size()));
  const std::size_t begin = out.size();
  out.insert(out.end(), type, type + 4);
  out.insert(out.end(), body.begin(), body.end());
  put32(out, crc32(&out[begin], out.size() - begin));
}

// zlib with stored blocks: no compression, and no code for it.
inline Bytes store_zlib(const Bytes &raw) {
  constexpr std::size_t largest = 65535;
  Bytes out{0x78, 0x01};
  for (std::size_t at = 0; at < raw.size(); at += largest) {
    const std::size_t size = std::min(largest, raw.size() - at);
    out.push_back(at + size == raw.size() ? 1 : 0);
    for (const std::size_t word : {size, size ^ 0xffffu}) {
      out.push_back(static_cast<std::uint8_t>(word));
      out.push_back(static_cast<std::uint8_t>(word >> 8));
    }
    const auto begin = raw.begin() + static_cast<std::ptrdiff_t>(at);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  put32(out, adler32(raw));
  return out;
}

inline Bytes encode(const Rgb &picture) {
  Bytes raw;
  const auto row_bytes = static_cast<std::ptrdiff_t>(3 * picture.width);
  for (auto row = picture.pixels.begin(); row != picture.pixels.end(); row += row_bytes) {
    raw.push_back(0); // filter: none
    raw.insert(raw.end(), row, row + row_bytes);
  }
  Bytes header;
  put32(header, static_cast<std::uint32_t>(picture.width));
  put32(header, static_cast<std::uint32_t>(picture.height));
  header.insert(header.end(), {8, 2, 0, 0, 0}); // 8 bits, RGB, not interlaced
  Bytes out(signature.begin(), signature.end());
  put_chunk(out, "IHDR", header);
  put_chunk(out, "IDAT", store_zlib(raw));
  put_chunk(out, "IEND", {});
  return out;
}

} // namespace png

inline void write_png(const std::string &path, const Rgb &picture) {
  const Bytes bytes = png::encode(picture);
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

} // namespace image
