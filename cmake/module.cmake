# flyball_module(NAME DEPENDS modules... LIBRARIES external... GENERATED files...): the static library of src/NAME, from
# every .cc beside this call and the generated ones, and NAME_test from every *_test.cc. Files named *_main.cc are
# programs and are added by hand.
#
# Sources are compiled a few at a time (a unity build): most of a file's time is its headers. So names in anonymous
# namespaces are unique within a module; the fuzz preset compiles each file alone and so finds a missing #include.
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
  target_include_directories(flyball_${NAME} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                                                      $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
  list(TRANSFORM ARG_DEPENDS PREPEND flyball_)
  target_link_libraries(flyball_${NAME} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_LIBRARIES} Threads::Threads)
  if(tests AND BUILD_TESTING)
    list(TRANSFORM ARG_TEST_DEPENDS PREPEND flyball_)
    flyball_test(${NAME}_test SOURCES ${tests} LINK flyball_${NAME} ${ARG_TEST_DEPENDS})
  endif()
endfunction()

# flyball_test(NAME SOURCES files... LINK targets...): a GoogleTest program, one ctest entry, run in random order.
function(flyball_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} flyball_shared_folder GTest::gtest GTest::gtest_main Threads::Threads)
  add_test(NAME ${NAME} COMMAND ${NAME} --gtest_shuffle --gtest_brief=1)
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 600)
endfunction()
