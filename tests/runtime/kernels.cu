// Kernels whose parameters are hard to place. Only the parameters matter: nothing here runs.
#define __global__ __attribute__((global))

struct Padded {
  char tag;
  double value;
  short tail;
};
struct Odd {
  char c[3];
};
struct alignas(16) A16 {
  char c[16];
};
struct alignas(32) A32 {
  char c[32];
};
struct alignas(64) A64 {
  char c[64];
};

extern "C" {
__global__ void empty() {}
__global__ void plain(int n, float a, const float *x, float *y) { y[n] = a * x[n]; }
__global__ void structs(char c, Padded p, unsigned short h, A16 v, Odd o, unsigned long long q, float *out) {
  out[0] = float(c + p.value + h + v.c[3] + o.c[2] + q);
}
__global__ void aligned(char c, A32 a, char d, A64 b, short e, float *out) { out[0] = c + a.c[1] + d + b.c[2] + e; }
__global__ void last_is_small(double d, char c) {}
}
