// Ids and extents in three dimensions, own names and CUDA's.
#include <offloadc/offload.h>

#include "check.h"

struct Record {
  unsigned thread[3], block[3], block_extent[3], grid_extent[3];
  std::size_t global, linear;
};

__global__ void record_own(Record *out) {
  const dim3 t = offloadc::thread_id(), b = offloadc::block_id(), bd = offloadc::block_dim(), gd = offloadc::grid_dim();
  const std::size_t block = (b.z * std::size_t(gd.y) + b.y) * gd.x + b.x;
  out[block * bd.x * bd.y * bd.z + offloadc::linear_thread_id()] = {
      {t.x, t.y, t.z}, {b.x, b.y, b.z}, {bd.x, bd.y, bd.z}, {gd.x, gd.y, gd.z},
      offloadc::global_id() + 1000 * offloadc::global_id_y() + 1000000 * offloadc::global_id_z(),
      offloadc::linear_thread_id()};
}

__global__ void record_cuda(Record *out) {
  const dim3 t = threadIdx;
  const unsigned linear = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const std::size_t block = (blockIdx.z * std::size_t(gridDim.y) + blockIdx.y) * gridDim.x + blockIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + linear] = {
      {t.x, t.y, t.z}, {blockIdx.x, blockIdx.y, blockIdx.z}, {blockDim.x, blockDim.y, blockDim.z},
      {gridDim.x, gridDim.y, gridDim.z},
      std::size_t(blockIdx.x) * blockDim.x + threadIdx.x + 1000 * (std::size_t(blockIdx.y) * blockDim.y + threadIdx.y) +
          1000000 * (std::size_t(blockIdx.z) * blockDim.z + threadIdx.z),
      linear};
}

static void expect(const std::vector<Record> &records, dim3 grid, dim3 block) {
  std::size_t i = 0;
  for (unsigned bz = 0; bz < grid.z; ++bz)
    for (unsigned by = 0; by < grid.y; ++by)
      for (unsigned bx = 0; bx < grid.x; ++bx)
        for (unsigned z = 0, linear = 0; z < block.z; ++z)
          for (unsigned y = 0; y < block.y; ++y)
            for (unsigned x = 0; x < block.x; ++x, ++i, ++linear) {
              const Record &r = records[i];
              EXPECT(r.thread[0] == x && r.thread[1] == y && r.thread[2] == z);
              EXPECT(r.block[0] == bx && r.block[1] == by && r.block[2] == bz);
              EXPECT(r.block_extent[0] == block.x && r.block_extent[1] == block.y && r.block_extent[2] == block.z);
              EXPECT(r.grid_extent[0] == grid.x && r.grid_extent[1] == grid.y && r.grid_extent[2] == grid.z);
              EXPECT(r.global == bx * block.x + x + 1000 * (by * block.y + y) + 1000000 * (bz * block.z + z));
              EXPECT(r.linear == linear);
            }
}

int main() {
  const dim3 grid(3, 4, 2), block(5, 3, 7);
  offloadc::buffer<Record> records(std::size_t(grid.x * grid.y * grid.z * block.x * block.y * block.z));
  records.fill(0xff);
  offloadc::launch(record_own, grid, block, records);
  expect(records.to_vector(), grid, block);
  records.fill(0xff);
  record_cuda<<<grid, block>>>(records);
  expect(records.to_vector(), grid, block);
  offloadc::launch(record_own, {3, 4, 2}, {5, 3, 7}, records);
  expect(records.to_vector(), grid, block);
  return passed();
}
