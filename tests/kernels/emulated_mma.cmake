# SPDX-License-Identifier: Apache-2.0
# test_emulated_mma: the device files of prefill_mma, translated and compiled for the host against
# stand-ins for Ampere's instructions. Needs the toolkit's type headers, no GPU.
if(NOT RACELINE_HAS_CUDA)
  return()
endif()
set(ampere ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_mma)
set(machine ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_sm90)
set(translated ${CMAKE_BINARY_DIR}/generated/emulated_mma)
set(translated_sources)
file(GLOB device CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/kernels/prefill_mma/*.cu ${CMAKE_SOURCE_DIR}/kernels/prefill_mma/*.cuh)
foreach(file ${device})
  set(out ${translated}/${file})
  if(file MATCHES "\\.cu$")
    string(APPEND out .cpp)
  endif()
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/${file} -DOUT=${out}
            -P ${CMAKE_SOURCE_DIR}/tests/kernels/emulated/translate.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/${file}
            ${CMAKE_SOURCE_DIR}/tests/kernels/emulated/translate.cmake VERBATIM)
  list(APPEND translated_sources ${out})
endforeach()

add_executable(test_emulated_mma ${ampere}/emulated_mma_test.cpp ${ampere}/ampere.cpp
               ${machine}/copies.cpp ${machine}/machine.cpp ${machine}/product.cpp
               ${translated_sources})
# The order matters: stand-ins, then translated files, then the tree.
target_include_directories(test_emulated_mma PRIVATE ${ampere} ${machine} ${translated} ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CUDAToolkit_INCLUDE_DIRS})
# Warnings about device files are the device compiler's business.
# All tiles in one translation unit a head dim: -O1 halves what that takes.
target_compile_options(test_emulated_mma PRIVATE -O1 -w -include ${ampere}/ampere.cuh)
target_link_libraries(test_emulated_mma PRIVATE raceline raceline_dependencies GTest::gtest_main)
gtest_discover_tests(test_emulated_mma DISCOVERY_TIMEOUT 60)
