# FLYBALL_PORTABLE: a program that needs nothing but a C library, of version 2.27 or later. FLYBALL_PORTABLE_DIR holds what
# packaging/portable makes: `libraries` (everything else, static) and `stubs` (what stands for the C library when linking).
option(FLYBALL_PORTABLE "a program that runs on any Linux with glibc 2.27 or later (./dev package)" OFF)
set(FLYBALL_PORTABLE_DIR ${CMAKE_BINARY_DIR}/portable CACHE PATH "what packaging/portable makes")

if(FLYBALL_PORTABLE)
  set(static_libraries ${FLYBALL_PORTABLE_DIR}/libraries)
  set(LIBARCHIVE ${static_libraries}/libarchive.a CACHE FILEPATH "" FORCE)
  set(MIMALLOC ${static_libraries}/libmimalloc.a CACHE FILEPATH "" FORCE)
  # These folders come first, so that -lssl finds the static one.
  add_link_options(-L${static_libraries} -L${FLYBALL_PORTABLE_DIR}/stubs -static-libstdc++ -static-libgcc
                   -Wl,--wrap=__libc_start_main -Wl,--gc-sections)
endif()

# flyball_portable(PROGRAM): what a program needs besides its own libraries.
function(flyball_portable PROGRAM)
  if(FLYBALL_PORTABLE)
    # The last four belong to the C library. A new one contains them; an old one has to be asked.
    target_link_libraries(${PROGRAM} PRIVATE ${static_libraries}/old_libc.o lzma bz2 zstd
                          -Wl,--no-as-needed pthread dl rt m)
  endif()
endfunction()
