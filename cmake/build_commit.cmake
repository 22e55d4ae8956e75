# flyball_build_commit(TARGET): adds to a program the one source file that knows the commit. Each build asks git; the file,
# and so the program, changes only with the answer. A source tree without git takes the commit from FLYBALL_COMMIT.
set(FLYBALL_COMMIT "" CACHE STRING "the commit of a source tree without git")

function(flyball_build_commit TARGET)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/build_commit.cc)
  set(type ${CMAKE_BUILD_TYPE})
  if(FLYBALL_SANITIZE)
    string(APPEND type ", ${FLYBALL_SANITIZE} sanitizer")
  endif()
  if(FLYBALL_PORTABLE)
    string(APPEND type ", portable")
  endif()
  add_custom_target(${TARGET}_commit BYPRODUCTS ${file}
                    COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D FILE=${file} -D "TYPE=${type}"
                            -D "COMMIT=${FLYBALL_COMMIT}" -P ${CMAKE_SOURCE_DIR}/cmake/write_build_commit.cmake
                    COMMENT "Asking git for the commit" VERBATIM)
  target_sources(${TARGET} PRIVATE ${file})
  set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_dependencies(${TARGET} ${TARGET}_commit)
endfunction()
