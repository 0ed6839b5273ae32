// expect-error: no matching function for call to 'launch'
#include <offloadc/offload.h>
int plain(int i) { return i; }
void run(int i) { offloadc::launch(plain, 1, 1, i); }
