# flyball_module(NAME DEPENDS modules... LIBRARIES external... GENERATED files...): the static library of src/NAME, from
# every .cc beside this call and the generated ones, and NAME_test from every *_test.cc. Files named *_main.cc are
# programs and are added by hand.
#
# Sources are compiled a few at a time (a unity build, see flyball_unity): most of a file's time is its headers. So names
# in anonymous namespaces are unique within a module; `./dev clang` compiles each file alone and so finds a missing #include.
function(flyball_module NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;GENERATED;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|main|bench|fuzz)\\.cc$")

  if(NOT sources)
    return()
  endif()
  add_library(flyball_${NAME} STATIC ${sources} ${ARG_GENERATED})
  flyball_unity(flyball_${NAME})
  target_include_directories(flyball_${NAME} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                                      $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
  list(TRANSFORM ARG_DEPENDS PREPEND flyball_)
  target_link_libraries(flyball_${NAME} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_LIBRARIES} Threads::Threads)
  if(tests AND BUILD_TESTING)
    list(TRANSFORM ARG_TEST_DEPENDS PREPEND flyball_)
    flyball_test(${NAME}_test SOURCES ${tests} LINK flyball_${NAME} ${ARG_TEST_DEPENDS})
  endif()
endfunction()

# flyball_unity(TARGET): compiles the sources of a target a few at a time, if FLYBALL_UNITY is on. A file's name alone says
# with which others: a file that comes or goes leaves the other groups as they were. Groups have at most 10 files on average,
# so that a change in one file is compiled again in seconds. CMake's own unity builds name files by absolute paths, which
# keeps ccache from sharing them between worktrees and clones.
function(flyball_unity TARGET)
  if(NOT FLYBALL_UNITY)
    return()
  endif()
  get_target_property(sources ${TARGET} SOURCES)
  set(together)
  foreach(source ${sources})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(source MATCHES "\\.cc$" AND NOT alone)
      list(APPEND together ${source})
    endif()
  endforeach()
  list(LENGTH together count)
  set(groups 1)
  while(count GREATER 10)
    math(EXPR count "(${count} + 1) / 2")
    math(EXPR groups "${groups} * 2")
  endwhile()
  foreach(source ${together})
    get_filename_component(name ${source} NAME)
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 6 hash)
    math(EXPR group "0x${hash} % ${groups}")
    flyball_include_of(${source} include)
    string(APPEND text_${group} "#include \"${include}\"\n")
  endforeach()
  set_source_files_properties(${together} PROPERTIES HEADER_FILE_ONLY ON)
  math(EXPR last "${groups} - 1")
  foreach(group RANGE ${last})
    if(DEFINED text_${group})
      set(file ${CMAKE_CURRENT_BINARY_DIR}/unity/${TARGET}_${group}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text_${group}}" @ONLY)
      target_sources(${TARGET} PRIVATE ${file})
    endif()
  endforeach()
endfunction()

# flyball_include_of(SOURCE RESULT): how a unity file names a source: as headers are, below src/ or among the generated
# files; other sources by the way there.
function(flyball_include_of SOURCE RESULT)
  get_filename_component(path ${SOURCE} ABSOLUTE)
  foreach(root ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/src/api/generated ${CMAKE_CURRENT_BINARY_DIR}/unity)
    file(RELATIVE_PATH include ${root} ${path})
    if(NOT include MATCHES "^\\.\\.")
      break()
    endif()
  endforeach()
  set(${RESULT} ${include} PARENT_SCOPE)
endfunction()

# flyball_test(NAME SOURCES files... LINK targets...): a GoogleTest program, one ctest entry, run in random order.
function(flyball_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${NAME} ${ARG_SOURCES})
  flyball_unity(${NAME})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} flyball_test_data GTest::gmock GTest::gtest GTest::gtest_main Threads::Threads)
  add_test(NAME ${NAME} COMMAND ${FLYBALL_TEST_LAUNCHER} $<TARGET_FILE:${NAME}> --gtest_shuffle --gtest_brief=1)
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${FLYBALL_TEST_TIMEOUT})
endfunction()
