# SPDX-License-Identifier: Apache-2.0
# test_emulated_mla: the device files of mla_tensor, translated and compiled for the host against
# stand-ins for Hopper's instructions. Needs the toolkit's type headers, no GPU.
if(NOT RACELINE_HAS_CUDA)
  return()
endif()
set(machine ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_sm90)
set(own ${CMAKE_SOURCE_DIR}/tests/ladder/mla_tensor)
set(translated ${CMAKE_BINARY_DIR}/generated/emulated_mla)
set(translated_sources)
file(GLOB device CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/ladder/mla_tensor/*.cu ${CMAKE_SOURCE_DIR}/ladder/mla_tensor/*.cuh)
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

add_executable(test_emulated_mla ${own}/emulated_test.cpp ${machine}/copies.cpp ${machine}/machine.cpp
               ${machine}/product.cpp ${translated_sources})
# The order matters: stand-ins, then translated files, then the tree.
target_include_directories(test_emulated_mla PRIVATE ${own} ${machine} ${translated} ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CUDAToolkit_INCLUDE_DIRS})
# Warnings about device files are the device compiler's business.
target_compile_options(test_emulated_mla PRIVATE -w -include ${own}/mla_machine.cuh)
target_link_libraries(test_emulated_mla PRIVATE raceline raceline_dependencies GTest::gtest_main)
gtest_discover_tests(test_emulated_mla DISCOVERY_TIMEOUT 60)
