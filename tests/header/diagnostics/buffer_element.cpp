// expect-error: buffer<T>::copy_from: the host elements must be T
#include <offloadc/offload.h>
void run(offloadc::buffer<double> &b, const std::vector<float> &v) { b.copy_from(v); }
