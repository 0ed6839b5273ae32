// Parameters, kinds of kernels, variables, control flow.
#include <offloadc/offload.h>


struct alignas(64) Big { double v[10]; char c; };
struct Small { int a; float b; };
struct Empty {};

extern "C" __global__ void params(Big big, Small small, char c, bool yes, double *out, short s, __int128 wide,
                                  Empty, unsigned char u) {
  big.v[threadIdx.x] += 1;
  double sum = 0;
  for (double x : big.v) sum += x;
  double *mine = out + 8 * threadIdx.x;
  mine[0] = sum;
  mine[1] = small.a + small.b;
  mine[2] = c;
  mine[3] = yes;
  mine[4] = s;
  mine[5] = static_cast<double>(static_cast<long>(wide >> 64)) + static_cast<double>(static_cast<long>(wide));
  mine[6] = static_cast<double>(reinterpret_cast<unsigned long>(&big) % 64);
  mine[7] = u;
}

template <class T, class F> __global__ void map(const T *in, T *out, int n, F f) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = f(in[i]);
}
struct Scale { float by; __device__ float operator()(float x) const { return x * by; } };

namespace { __global__ void hidden_kernel(int *out) { *out = 42; } }
struct Owner { static __global__ void member(int *out) { *out = 43; } };

__constant__ float weights[3] = {0.5f, 0.25f, 8};
__device__ int counter = 100;
__device__ int *counter_address = &counter;
extern "C" __global__ void variables(float *out, int i) {
  out[0] = weights[i];
  out[1] = static_cast<float>(__atomic_fetch_add(counter_address, 1, __ATOMIC_RELAXED));
}

__device__ __attribute__((noinline)) long fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(long *out) { out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x)); }

extern "C" __global__ void choose(const int *in, int *out) {
  switch (in[threadIdx.x]) {
  case 1: out[threadIdx.x] = 10; break;
  case 7: out[threadIdx.x] = 70; [[fallthrough]];
  case 8: out[threadIdx.x] += 1; break;
  case 1000: out[threadIdx.x] = -1; break;
  default: out[threadIdx.x] = 99;
  }
}

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
typedef int (*function)(int);
__device__ function table[2] = {twice, square};
extern "C" __global__ void indirect(int *out, int which) { out[threadIdx.x] = table[which](out[threadIdx.x]); }

struct Shape { __device__ virtual int sides() const { return 0; } };
struct Square : Shape { __device__ int sides() const override { return 4; } };
__device__ __attribute__((noinline)) int ask(const Shape &s) { return s.sides(); }
extern "C" __global__ void virtuals(int *out) { Square s; *out = ask(s); }

extern "C" __device__ int printf(const char *, ...);
extern "C" __global__ void say(int n, const char *text) { printf("%d|%5.2f|%s|%lld|%c|%%|%*d\n", n, 2.5, text, 1ll << 40, 'x', 4, 7); }

int main() {
  hidden_kernel<<<1, 1>>>(nullptr);
  Owner::member<<<1, 1>>>(nullptr);
  map<<<1, 1>>>(static_cast<const float *>(nullptr), static_cast<float *>(nullptr), 0, Scale{3});
  double by = 2;
  map<<<1, 1>>>(static_cast<const double *>(nullptr), static_cast<double *>(nullptr), 0,
                [by] __device__(double x) { return x * by + 1; });
}
