// expect-error: launch: too few arguments for this kernel
#include <offloadc/offload.h>
void run() { offloadc::launch([] __device__(int, int) {}, 1, 1, 2); }
