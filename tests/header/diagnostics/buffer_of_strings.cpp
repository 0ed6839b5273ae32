// expect-error: buffer<T>: T must be copyable byte by byte
#include <offloadc/offload.h>
#include <string>
void run() { offloadc::buffer<std::string> b(3); }
