# SPDX-License-Identifier: Apache-2.0
# test_emulated_sm90_fp8: as test_emulated_sm90, of prefill_sm90_fp8's device files. It links the
# kernel and the modules that it needs, not the whole library: no other kernel has to be built.
if(NOT RACELINE_HAS_CUDA)
  return()
endif()
set(machine ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_sm90)
set(ampere ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_mma)
set(translated ${CMAKE_BINARY_DIR}/generated/emulated_sm90_fp8)
set(translated_sources)
file(GLOB device CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/kernels/prefill_sm90_fp8/*.cu
     ${CMAKE_SOURCE_DIR}/kernels/prefill_sm90_fp8/*.cuh)
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

file(GLOB host CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/prefill_sm90_fp8/*.cpp)
add_executable(test_emulated_sm90_fp8
               ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_sm90_fp8/emulated_sm90_fp8_test.cpp
               ${CMAKE_SOURCE_DIR}/tests/kernels/emulated_sm90_fp8/prepared_test.cpp
               ${machine}/copies.cpp ${machine}/machine.cpp ${machine}/product.cpp ${ampere}/ampere.cpp
               ${translated_sources} ${host}
               ${CMAKE_SOURCE_DIR}/src/model/constant.cpp ${CMAKE_SOURCE_DIR}/src/run/gate.cpp
               ${CMAKE_SOURCE_DIR}/src/run/gate_answers.cpp ${CMAKE_SOURCE_DIR}/src/run/gate_rows.cpp
               ${CMAKE_SOURCE_DIR}/src/run/row_errors.cpp ${CMAKE_SOURCE_DIR}/src/run/verdict.cpp
             ${CMAKE_SOURCE_DIR}/src/run/poison.cpp)
# The order matters: stand-ins, then translated files, then the tree.
target_include_directories(test_emulated_sm90_fp8 PRIVATE ${machine} ${ampere}
  ${translated}
  ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
  ${CUDAToolkit_INCLUDE_DIRS})
# Warnings about device files are the device compiler's business.
target_compile_options(test_emulated_sm90_fp8 PRIVATE -w -include ${ampere}/ampere.cuh)
target_link_libraries(test_emulated_sm90_fp8 PRIVATE rl_workload rl_support rl_build_info
                      raceline_dependencies GTest::gtest_main)
gtest_discover_tests(test_emulated_sm90_fp8 DISCOVERY_TIMEOUT 60)
