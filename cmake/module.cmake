# flyball_module(NAME DEPENDS modules... LIBRARIES external... GENERATED files...): the static library of src/NAME, from
# every .cc beside this call and the generated ones, and NAME_test from every *_test.cc. Files named *_main.cc are
# programs and are added by hand.
#
# Sources are compiled a few at a time (a unity build, see flyball_unity): most of a file's time is its headers. So names
# in anonymous namespaces are unique within a module; the fuzz preset compiles each file alone and so finds a missing
# #include.
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

# flyball_unity(TARGET): which sources of a target are compiled together, if CMAKE_UNITY_BUILD is on. A file's name alone
# says so: a file that comes or goes leaves the other groups as they were. Groups have at most 10 files on average, so that
# a change in one file is compiled again in seconds.
function(flyball_unity TARGET)
  get_target_property(sources ${TARGET} SOURCES)
  list(LENGTH sources count)
  set(groups 1)
  while(count GREATER 10)
    math(EXPR count "(${count} + 1) / 2")
    math(EXPR groups "${groups} * 2")
  endwhile()
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 6 hash)
    math(EXPR group "0x${hash} % ${groups}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${TARGET} PROPERTIES UNITY_BUILD_MODE GROUP)
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
