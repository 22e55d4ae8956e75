// What the process says to its allocator and to the system about its memory.
#pragma once

namespace flyball {

// Gives free memory back to the system, for moments after much was freed: the allocator keeps it otherwise.
// Thread-safe; takes milliseconds.
void ReturnFreeMemory();

// Lets go of the program's own pages: code and constants of program and libraries, for the moment after a
// start, which reads much that is not needed again. They stay in the system's cache of files, from where each
// comes back (with its neighbours) at its next use, in about a microsecond. They could be taken away at any
// time, but the system does so only when it is short of memory, and until then they count as the process's
// memory. Pages that are not as in the file (a debugger's breakpoints) stay. Thread-safe; takes a
// millisecond.
void LetGoOfProgramPages();

}  // namespace flyball
