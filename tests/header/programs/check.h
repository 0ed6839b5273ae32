// What every program of this folder shares: a failed expectation is printed and ends it.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define EXPECT(...)                                                           \
  do {                                                                        \
    if (!(__VA_ARGS__)) {                                                     \
      std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #__VA_ARGS__);  \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

inline bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * std::fmax(std::fabs(a), std::fabs(b));
}

inline int passed() {
  std::puts("ok");
  return 0;
}
