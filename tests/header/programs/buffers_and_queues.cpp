// Owning objects: moves, copies with offsets, filling, queues, device information.
#include <offloadc/offload.h>

#include <array>
#include <utility>
#include <vector>

#include "check.h"

__global__ void add_one(int *p, int n) {
  const int i = static_cast<int>(offloadc::global_id());
  if (i < n) p[i] += 1;
}

int main() {
  offloadc::buffer a(std::vector<int>{1, 2, 3, 4});
  offloadc::buffer<int> b(std::move(a));
  EXPECT(a.empty() && a.data() == nullptr && b.size() == 4 && b.size_bytes() == 16);
  b.copy_from(std::array<int, 2>{8, 9}, 1);
  int host[2] = {};
  b.copy_to(host, 2);
  EXPECT(host[0] == 9 && host[1] == 4);
  offloadc::buffer<int> c;
  c = std::move(b);
  EXPECT(c.to_vector() == std::vector<int>{1, 8, 9, 4});
  c.fill(0xff);
  EXPECT(c.to_vector() == std::vector<int>(4, -1));
  EXPECT(offloadc::buffer<int>().to_vector().empty() && offloadc::buffer<int>(std::vector<int>{}).empty());

  offloadc::queue first, second;
  offloadc::launch(add_one, offloadc::launch_config{1, 4, 0, first}, c, 4);
  first.synchronize();
  offloadc::launch(add_one, offloadc::launch_config{1, 4, 0, second}, c, 4);
  offloadc::queue moved(std::move(second));
  EXPECT(second.get() == nullptr);
  moved.synchronize();
  EXPECT(c.to_vector() == std::vector<int>(4, 1));

  const auto device = offloadc::device::current();
  EXPECT(!device.name().empty() && !device.arch().empty() && device.compute_units() > 0);
  EXPECT(device.max_block_threads() >= 256 && device.memory_bytes() > 0 && device.index() >= 0);
  EXPECT(device.kind() != offloadc::device_kind::cpu || device.warp_size() == 32);
  return passed();
}
