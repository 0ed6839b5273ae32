// expect-error: launch: a callable kernel takes its parameters by value
#include <offloadc/offload.h>
void run(int i) { offloadc::launch([] __device__(int &) {}, 1, 1, i); }
