# `cmake --install BUILD --prefix P`: the program (component `program`) and the SDK (component `sdk`): headers, static
# libraries, and the CMake package that gives `flyball::sdk` to find_package(flyball).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sdk_modules base json cel api net client informer controller)
set(sdk_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/flyball)

add_library(flyball_sdk INTERFACE)
add_library(flyball::sdk ALIAS flyball_sdk)
target_link_libraries(flyball_sdk INTERFACE flyball_controller)
target_compile_features(flyball_sdk INTERFACE cxx_std_20)

set(sdk_targets flyball_sdk)
foreach(module ${sdk_modules})
  list(APPEND sdk_targets flyball_${module})
  set_target_properties(flyball_${module} PROPERTIES EXPORT_NAME ${module})
endforeach()
set_target_properties(flyball_sdk PROPERTIES EXPORT_NAME sdk)
# The headers refer to each other as "module/file.h": those live in a folder of their own, out of everybody's way.
set(sdk_internal_headers ${CMAKE_INSTALL_INCLUDEDIR}/flyball/internal)
target_include_directories(flyball_base PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                               $<INSTALL_INTERFACE:${sdk_internal_headers}>)
install(TARGETS ${sdk_targets} EXPORT flyball-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT sdk)
install(EXPORT flyball-targets NAMESPACE flyball:: DESTINATION ${sdk_package_dir} COMPONENT sdk)

# The public headers and what they include, which is known once the generated ones are there: when installing.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/flyball DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT sdk)
string(CONFIGURE [[
  set(public_headers "@CMAKE_SOURCE_DIR@/include/flyball")
  set(roots "@CMAKE_SOURCE_DIR@/src" "@CMAKE_BINARY_DIR@/src/api/generated")
  set(destination "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/@sdk_internal_headers@")
  include("@CMAKE_SOURCE_DIR@/cmake/install_headers.cmake")
]] install_headers @ONLY)
install(CODE "${install_headers}" COMPONENT sdk)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/flyball-config.cmake.in ${CMAKE_BINARY_DIR}/flyball-config.cmake
                              INSTALL_DESTINATION ${sdk_package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/flyball-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/flyball-config.cmake ${CMAKE_BINARY_DIR}/flyball-config-version.cmake
        DESTINATION ${sdk_package_dir} COMPONENT sdk)

if(TARGET flyball)
  install(TARGETS flyball RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
