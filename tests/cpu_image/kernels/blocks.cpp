// Ids, barriers, shared memory.
#include <offloadc/offload.h>

extern "C" __global__ void ids(unsigned *out) {
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned *mine = out + 12 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
  const unsigned all[12] = {threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z,
                            blockDim.x,  blockDim.y,  blockDim.z,  gridDim.x,  gridDim.y,  gridDim.z};
  for (int i = 0; i < 12; i++) mine[i] = all[i];
}

// Sums a block's values by halving; any block size.
__device__ int block_sum(int value, int *scratch) {
  unsigned t = threadIdx.x;
  scratch[t] = value;
  __syncthreads();
  for (unsigned n = blockDim.x; n > 1; n = (n + 1) / 2) {
    unsigned half = (n + 1) / 2;
    int other = t + half < n ? scratch[t + half] : 0;
    __syncthreads();
    if (t < half) scratch[t] += other;
    __syncthreads();
  }
  return scratch[0];
}

extern "C" __global__ void sum_static(const int *in, int *out) {
  __shared__ int scratch[1024];
  int sum = block_sum(in[blockIdx.x * blockDim.x + threadIdx.x], scratch);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void sum_dynamic(const int *in, int *out) {
  extern __shared__ int scratch_dynamic[];
  int sum = block_sum(in[blockIdx.x * blockDim.x + threadIdx.x], scratch_dynamic);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// More static shared memory than NVIDIA's 48 KiB or a loader's thread-local reserve.
extern "C" __global__ void large_shared(double *out) {
  __shared__ double tile[16384];
  for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x) tile[i] = i + blockIdx.x;
  __syncthreads();
  double sum = 0;
  for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x) sum += tile[16383 - i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void alignments(unsigned long long *out) {
  __shared__ char odd[3];
  __shared__ alignas(128) double wide[2];
  __shared__ alignas(1024) char page[5];
  extern __shared__ double from_engine[];
  odd[0] = 1, wide[0] = 1, page[0] = 1;
  out[0] = reinterpret_cast<unsigned long long>(wide);
  out[1] = reinterpret_cast<unsigned long long>(page);
  out[2] = reinterpret_cast<unsigned long long>(from_engine);
  out[3] = reinterpret_cast<unsigned long long>(offloadc::dynamic_shared<char>()) - out[2];
}

// An array of addresses of shared variables: clang makes a constant of it.
extern "C" __global__ void double_buffer(const int *in, int *out, int rounds) {
  __shared__ int a[64], b[64];
  struct pair { int *from, *to; int bias; };
  int *buffers[2] = {a, b};
  pair first = {a, b + 1, 5};
  unsigned t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  for (int i = 0; i < rounds; i++) {
    buffers[(i + 1) % 2][t] = buffers[i % 2][(t + 1) % 64] + 1;
    __syncthreads();
  }
  out[t] = buffers[rounds % 2][t];
  if (t == 0) out[64] = static_cast<int>(first.to - b) + first.bias;
}

__device__ __attribute__((noinline)) float *pick(int which) {
  static __shared__ float kept[8];
  return which ? kept : kept + 3;
}

extern "C" __global__ void through_function(float *out, int which) {
  if (threadIdx.x == 0) *pick(which) = 2.5f, *pick(!which) = 7.5f;
  __syncthreads();
  if (threadIdx.x == 1) out[0] = *pick(which), out[1] = static_cast<float>(pick(0) - pick(1));
}

// Threads leave one after another; the barrier counts those that are left.
extern "C" __global__ void leave_early(int *out) {
  __shared__ int round;
  if (threadIdx.x == 0) round = 0;
  __syncthreads();
  for (unsigned i = 0; i < blockDim.x - 1 - threadIdx.x; i++) {
    __syncthreads(); // threads that have left the loop write their result before they are done
    if (threadIdx.x == 0) round++;
    __syncthreads();
  }
  out[threadIdx.x] = round;
}

// The two sides of a branch meet at barriers of their own.
extern "C" __global__ void two_barriers(int *out) {
  __shared__ int seen[64];
  seen[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 2) {
    seen[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = seen[threadIdx.x - 1];
  } else {
    seen[threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x] = seen[threadIdx.x + 1];
  }
}

extern "C" __global__ void ragged(int *out, int width) {
  __shared__ int tile[1024];
  unsigned n = blockDim.x * blockDim.y * blockDim.z;
  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  tile[t] = static_cast<int>(t * 7 + b);
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < width; i++) sum += tile[(t + i) % n];
  __syncthreads();
  tile[t] = sum;
  __syncthreads();
  out[b * n + t] = tile[n - 1 - t];
}

extern "C" __global__ void deep_stack(int *out) {
  volatile char frame[40000];
  for (int i = 0; i < 40000; i += 64) frame[i] = static_cast<char>(i);
  __syncthreads();
  out[threadIdx.x] = frame[6400] + static_cast<int>(threadIdx.x);
}
int main() {}
