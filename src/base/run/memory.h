// What the process says to its allocator.
#pragma once

namespace flyball {

// Gives free memory back to the system, for moments after much was freed: the allocator keeps it otherwise.
// Thread-safe; takes milliseconds.
void ReturnFreeMemory();

}  // namespace flyball
