# SPDX-License-Identifier: Apache-2.0
# test_emulated: the device files of simt and naive, translated and compiled for the host. Their
# launch() stands before the library's in the link, so the registry runs them. Needs the toolkit's
# type headers, no GPU.
if(NOT RACELINE_HAS_CUDA)
  return()
endif()
set(emulated ${CMAKE_SOURCE_DIR}/tests/kernels/emulated)
set(translated ${CMAKE_BINARY_DIR}/generated/emulated)
set(translated_sources)
foreach(folder kernels/simt ladder/naive)
  file(GLOB device CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/${folder}/*.cu ${CMAKE_SOURCE_DIR}/${folder}/*.cuh)
  foreach(file ${device})
    set(out ${translated}/${file})
    if(file MATCHES "\\.cu$")
      string(APPEND out .cpp)
    endif()
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/${file} -DOUT=${out}
              -P ${emulated}/translate.cmake
      DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${emulated}/translate.cmake VERBATIM)
    list(APPEND translated_sources ${out})
  endforeach()
endforeach()

add_executable(test_emulated ${emulated}/emulated_test.cpp ${translated_sources})
# The order matters: stand-ins, then translated files, then the tree.
target_include_directories(test_emulated PRIVATE ${emulated} ${translated} ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CUDAToolkit_INCLUDE_DIRS})
# Warnings about device files are the device compiler's business.
target_compile_options(test_emulated PRIVATE -w -include ${emulated}/machine.cuh)
target_link_libraries(test_emulated PRIVATE raceline raceline_dependencies GTest::gtest_main)
gtest_discover_tests(test_emulated DISCOVERY_TIMEOUT 60)
