# SPDX-License-Identifier: Apache-2.0
# The shared library for every language but C++, and the CMake package raceline:
#   raceline::raceline  static, for C++; needs no nvcc, finds OpenMP, Highway, zlib and libmd
#   raceline::c         shared, only rl_* visible; a C program has nothing else to find
include(CMakePackageConfigHelpers)

get_property(objects GLOBAL PROPERTY RACELINE_OBJECTS)
set(exports ${PROJECT_SOURCE_DIR}/cmake/c_exports.map)
add_library(raceline_shared SHARED ${objects})
target_include_directories(raceline_shared PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(raceline_shared PRIVATE $<BUILD_INTERFACE:raceline_dependencies>)
if(RACELINE_SANITIZE)
  target_link_options(raceline_shared PRIVATE -fsanitize=${RACELINE_SANITIZE})
else()
  # Inline functions of the C++ library and all of the static archives stay inside. A sanitizer's
  # runtime, however, lives in the program, and its symbols must be free to be found there.
  target_link_options(raceline_shared PRIVATE
    -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,--no-undefined)
endif()
set_target_properties(raceline_shared PROPERTIES
  OUTPUT_NAME raceline EXPORT_NAME c LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
add_library(raceline::c ALIAS raceline_shared)

# What the static library needs of its user, by names that racelineConfig.cmake defines.
target_link_libraries(raceline PUBLIC $<INSTALL_INTERFACE:OpenMP::OpenMP_CXX>
  $<INSTALL_INTERFACE:hwy::hwy> $<INSTALL_INTERFACE:ZLIB::ZLIB> $<INSTALL_INTERFACE:raceline::md>
  $<INSTALL_INTERFACE:${CMAKE_DL_LIBS}>)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/raceline)
if(RACELINE_HAS_CUDA)
  # The consumer has no toolkit: the CUDA runtime, which may be redistributed, comes along.
  target_link_libraries(raceline PUBLIC $<INSTALL_INTERFACE:raceline::cudart>)
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  install(FILES ${cudart} DESTINATION ${CMAKE_INSTALL_LIBDIR}/raceline COMPONENT raceline)
endif()

# `make demo` builds the program alone: what else is to be installed is built when it is missing.
function(raceline_build_before_install component)
  set(files)
  foreach(target ${ARGN})
    list(APPEND files "\"$<TARGET_FILE:${target}>\"")
  endforeach()
  list(JOIN files " " files)
  list(JOIN ARGN " " targets)
  install(CODE "
    foreach(file ${files})
      if(NOT EXISTS \"\${file}\")
        execute_process(COMMAND \"${CMAKE_COMMAND}\" --build \"${CMAKE_BINARY_DIR}\" --target ${targets}
                        COMMAND_ERROR_IS_FATAL ANY)
      endif()
    endforeach()" COMPONENT ${component})
endfunction()
raceline_build_before_install(raceline raceline raceline_shared)
if(TARGET raceline_cli)
  raceline_build_before_install(program raceline_cli)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/raceline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT raceline)
install(TARGETS raceline EXPORT racelineStatic COMPONENT raceline
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS raceline_shared EXPORT racelineShared COMPONENT raceline
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET raceline_cli)
  install(TARGETS raceline_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
# Two files, so that a project without C++ reads only what it can use.
install(EXPORT racelineStatic NAMESPACE raceline:: DESTINATION ${package} COMPONENT raceline)
install(EXPORT racelineShared NAMESPACE raceline:: DESTINATION ${package} COMPONENT raceline)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/racelineConfig.cmake.in
  ${PROJECT_BINARY_DIR}/racelineConfig.cmake INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/racelineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/racelineConfig.cmake
              ${PROJECT_BINARY_DIR}/racelineConfigVersion.cmake
        DESTINATION ${package} COMPONENT raceline)
