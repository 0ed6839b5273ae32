// 2-D heat equation on whatever device is there: a picture is the initial temperature field.
// README.md beside this file says what is computed and how it is checked.
#include "image.hpp"

#include <offloadc/offload.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

// ---------------------------------------------------------------------------- the equation
// Explicit Euler on a unit grid, insulated edges. The diffusion number is a power of two, so its
// product is exact and a fused multiply-add rounds as a product and a sum do: every device has to
// give the same bits. 20 degrees and more keep differences away from subnormal numbers.
constexpr double diffusion = 0.125; // stable up to 0.25
constexpr double coldest = 20, warmest = 100;

template <class T>
__host__ __device__ T updated(const T *field, int x, int y, int width, int height) {
  const T *row = field + static_cast<std::size_t>(y) * static_cast<std::size_t>(width);
  const T here = row[x];
  const T west = x > 0 ? row[x - 1] : here;
  const T east = x + 1 < width ? row[x + 1] : here;
  const T north = y > 0 ? row[x - width] : here;
  const T south = y + 1 < height ? row[x + width] : here;
  return here + T(diffusion) * ((west + east) + (north + south) - 4 * here);
}

template <class T>
__global__ void heat_step(offloadc::span<const T> from, offloadc::span<T> to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < width && y < height) to.data()[y * width + x] = updated(from.data(), x, y, width, height);
}

// ---------------------------------------------------------------------------- reduction
constexpr unsigned reduce_threads = 256, reduce_blocks = 64;

// One partial result a block; `combine` is what the caller's lambda makes of two values.
template <class T, class Combine>
__global__ void reduce(offloadc::span<const T> field, offloadc::span<double> partial, double identity,
                       Combine combine) {
  __shared__ double values[reduce_threads];
  double mine = identity;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < field.size(); i += blockDim.x * gridDim.x)
    mine = combine(mine, static_cast<double>(field.data()[i]));
  values[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = reduce_threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) partial.data()[blockIdx.x] = values[0];
}

template <class T, class Combine>
double reduced(const offloadc::buffer<T> &field, double identity, Combine combine) {
  offloadc::buffer<double> partial(reduce_blocks);
  offloadc::launch(reduce<T, Combine>, reduce_blocks, reduce_threads, field, partial, identity, combine);
  double total = identity;
  for (const double value : partial.to_vector()) total = combine(total, value);
  return total;
}

// ---------------------------------------------------------------------------- one run
struct Options {
  std::string input, output = "heat.png";
  unsigned steps = 500;
  bool use_double = false;
};

template <class T>
struct Result {
  std::vector<T> field;
  double heat = 0, peak = 0, seconds = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class T>
Result<T> on_device(const std::vector<T> &initial, int width, int height, unsigned steps) {
  offloadc::buffer<T> now(initial), next(initial.size());
  const dim3 block(32, 8);
  const dim3 grid((static_cast<unsigned>(width) + block.x - 1) / block.x,
                  (static_cast<unsigned>(height) + block.y - 1) / block.y);
  offloadc::synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (unsigned step = 0; step < steps; ++step) {
    offloadc::launch(heat_step<T>, grid, block, now, next, width, height);
    std::swap(now, next);
  }
  offloadc::synchronize();
  const double seconds = seconds_since(start);
  const double heat = reduced(now, 0.0, [] __host__ __device__(double a, double b) { return a + b; });
  const double peak = reduced(now, coldest, [] __host__ __device__(double a, double b) { return a > b ? a : b; });
  return {now.to_vector(), heat, peak, seconds};
}

// The same arithmetic as a plain loop.
template <class T>
Result<T> serial(const std::vector<T> &initial, int width, int height, unsigned steps) {
  std::vector<T> now = initial, next(initial.size());
  const auto start = std::chrono::steady_clock::now();
  for (unsigned step = 0; step < steps; ++step) {
    T *to = next.data();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) *to++ = updated(now.data(), x, y, width, height);
    now.swap(next);
  }
  Result<T> result{{}, 0, coldest, seconds_since(start)};
  for (const T value : now) {
    result.heat += static_cast<double>(value);
    result.peak = std::max(result.peak, static_cast<double>(value));
  }
  result.field = std::move(now);
  return result;
}

// ---------------------------------------------------------------------------- pictures
template <class T>
std::vector<T> temperatures(const image::Grey &picture) {
  std::vector<T> field;
  field.reserve(picture.pixels.size());
  for (const std::uint8_t grey : picture.pixels)
    field.push_back(static_cast<T>(coldest + (warmest - coldest) * grey / 255));
  return field;
}

std::uint8_t channel(double value) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

// Black, red, yellow, white from the coldest to the warmest.
template <class T>
image::Rgb coloured(const std::vector<T> &field, std::size_t width, std::size_t height) {
  image::Rgb picture{width, height, {}};
  picture.pixels.reserve(3 * field.size());
  for (const T value : field) {
    const double level = 3 * (static_cast<double>(value) - coldest) / (warmest - coldest);
    picture.pixels.insert(picture.pixels.end(), {channel(level), channel(level - 1), channel(level - 2)});
  }
  return picture;
}

// ---------------------------------------------------------------------------- checking and printing
// FNV-1a over the field's bytes: equal only if every bit is.
template <class T>
std::uint64_t checksum(const std::vector<T> &field) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto *bytes = reinterpret_cast<const unsigned char *>(field.data());
  for (std::size_t i = 0; i < field.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

const char *mark(bool good) { return good ? "ok" : "WRONG"; }

// The sum depends on its order: 1e-12 of it is some 4,500 roundings in one direction.
template <class T>
bool report(const Result<T> &device, const Result<T> &reference, unsigned steps) {
  const std::uint64_t got = checksum(device.field), wanted = checksum(reference.field);
  const bool same_heat = std::abs(device.heat - reference.heat) <= 1e-12 * std::abs(reference.heat);
  const bool same_peak = device.peak == reference.peak;
  const bool pass = got == wanted && same_heat && same_peak;
  std::printf("time       %.3f s, %.0f steps/s; serial loop %.3f s, %.0f steps/s\n", device.seconds,
              steps / std::max(device.seconds, 1e-9), reference.seconds, steps / std::max(reference.seconds, 1e-9));
  std::printf("checksum   %016llx, serial %016llx: %s\n", static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(wanted), mark(got == wanted));
  std::printf("heat       %.6f, serial %.6f: %s\n", device.heat, reference.heat, mark(same_heat));
  std::printf("peak       %.6f, serial %.6f: %s\n", device.peak, reference.peak, mark(same_peak));
  std::printf("%s\n", pass ? "PASS" : "FAIL");
  return pass;
}

template <class T>
bool run(const Options &options) {
  const image::Grey picture = image::read(options.input);
  const int width = static_cast<int>(picture.width), height = static_cast<int>(picture.height);
  const std::vector<T> initial = temperatures<T>(picture);
  const auto device = offloadc::device::current();
  std::printf("input      %s, %d x %d\n", options.input.c_str(), width, height);
  std::printf("device     %s (%s)\n", std::string(device.name()).c_str(), std::string(device.arch()).c_str());
  std::printf("ABI        %s\n", std::string(offloadc::contract_verdict()).c_str());
  std::printf("steps      %u in %s precision\n", options.steps, sizeof(T) == 8 ? "double" : "single");
  const Result<T> result = on_device(initial, width, height, options.steps);
  image::write_png(options.output, coloured(result.field, picture.width, picture.height));
  std::printf("output     %s\n", options.output.c_str());
  return report(result, serial(initial, width, height, options.steps), options.steps);
}

// ---------------------------------------------------------------------------- command line
constexpr const char *usage = "usage: heat [--input FILE] [--output FILE] [--steps N] [--double]\n"
                              "  --input   picture (PGM, PPM, 8-bit PNG) of the initial field\n"
                              "  --output  PNG of the final field, heat.png if not given\n"
                              "  --steps   number of time steps, 500 if not given\n"
                              "  --double  compute in double precision\n";

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The picture that lies beside this source.
std::string bundled_picture() {
  const std::string source = __FILE__;
  const std::size_t slash = source.rfind('/');
  return (slash == std::string::npos ? std::string() : source.substr(0, slash + 1)) + "cell.png";
}

unsigned steps_from(const std::string &text) {
  unsigned steps = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), steps);
  if (error != std::errc() || end != text.data() + text.size() || steps > 100'000'000)
    throw UsageError("--steps wants a number from 0 to 100000000, not '" + text + "'");
  return steps;
}

Options parse(int argc, char **argv) {
  Options options;
  options.input = bundled_picture();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--double") {
      options.use_double = true;
      continue;
    }
    if (word != "--input" && word != "--output" && word != "--steps")
      throw UsageError("unknown argument '" + word + "'");
    if (i + 1 == argc) throw UsageError(word + " wants a value");
    const std::string value = argv[++i];
    if (word == "--input") options.input = value;
    if (word == "--output") options.output = value;
    if (word == "--steps") options.steps = steps_from(value);
  }
  return options;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 2 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(usage, stdout);
    return 0;
  }
  try {
    const Options options = parse(argc, argv);
    return (options.use_double ? run<double>(options) : run<float>(options)) ? 0 : 1;
  } catch (const UsageError &error) {
    std::fprintf(stderr, "heat: error: %s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "heat: error: %s\n", error.what());
    return 1;
  }
}
