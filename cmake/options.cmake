# How everything is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(FLYBALL_SANITIZE "" CACHE STRING "address (with undefined behaviour) or thread")
option(FLYBALL_COVERAGE "count which lines and branches run (g++; see tools/coverage.py)" OFF)
option(FLYBALL_FUZZ "build the libFuzzer targets (clang)" OFF)

# Designated initialisers leave members out on purpose.
add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside std::optional and std::variant at -O2 without cause.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-free-nonheap-object)
  # In a unity build a .cc file is an included one, whose anonymous namespace this warning mistrusts.
  add_compile_options(-Wno-subobject-linkage)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wthread-safety)
endif()

# Debug: enough optimisation to run tests briskly, line tables for back-traces and debuggers.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
# Sections: the linker leaves out functions that nothing calls.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG -ffunction-sections -fdata-sections")

if(FLYBALL_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -O1)
  # Both in the program: as shared libraries, UBSan does not know of log_path (tests/sanitized.py).
  add_link_options(-fsanitize=address,undefined -static-libasan -static-libubsan)
elseif(FLYBALL_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -O1 -Wno-tsan)
  add_link_options(-fsanitize=thread)
endif()

if(FLYBALL_COVERAGE)
  # Threads count too; without, counts of shared code are lost or negative.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

# Tests import Debian's Python packages, which only the system's interpreter sees, whatever python3 comes first in the path.
if(EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()

# How long a test may take, in seconds, and what runs it.
set(FLYBALL_TEST_TIMEOUT 600)
set(FLYBALL_TEST_LAUNCHER)
if(FLYBALL_SANITIZE)
  set(FLYBALL_TEST_TIMEOUT 3000)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(FLYBALL_TEST_LAUNCHER ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/sanitized.py)
endif()

# Everything is instrumented; only the programs of fuzz/ get libFuzzer's main.
if(FLYBALL_FUZZ)
  # Without `function`: clang 14 cannot assemble what that check makes of coroutines.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function
                      -fno-sanitize-recover=undefined)
endif()

option(FLYBALL_UNITY "compile several files at once; off: each alone, which finds a missing #include" ON)

find_program(CCACHE ccache)
# An object that counts names the file its counts go to: it is of use in one folder only.
if(CCACHE AND NOT FLYBALL_COVERAGE)
  # Paths relative to the checkout: every worktree and clone on a machine shares what was compiled once.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
find_program(LLD ld.lld)
if(MOLD)
  add_link_options(-fuse-ld=mold)
elseif(LLD)
  add_link_options(-fuse-ld=lld)
endif()

find_package(Threads REQUIRED)
