#include "base/run/memory.h"

#include <malloc.h>

namespace flyball {

void ReturnFreeMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace flyball
