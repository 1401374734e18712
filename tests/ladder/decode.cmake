# SPDX-License-Identifier: Apache-2.0
# Two programs for the rungs of the decode ladder: test_ladder_decode reads records and machine code,
# test_emulated_decode runs the device files on the host (see tests/kernels/emulated.cmake).
set(decode ${CMAKE_CURRENT_SOURCE_DIR}/ladder/decode)
set(decode_rungs splitkv paged gqa gqa_wmma gqa_doublebuffer
    gqa_occupancy gqa_ilp gqa_scorestationary fp8_kv nvfp4_kv mla)

add_executable(test_ladder_decode ${decode}/code_test.cpp ${decode}/cache_code_test.cpp)
raceline_host_options(test_ladder_decode)
target_compile_definitions(test_ladder_decode PRIVATE RACELINE_BINARY_DIR="${CMAKE_BINARY_DIR}")
target_link_libraries(test_ladder_decode PRIVATE raceline raceline_dependencies GTest::gmock
                                                 GTest::gtest_main)
gtest_discover_tests(test_ladder_decode DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)

if(NOT RACELINE_HAS_CUDA)
  return()
endif()
set(translated ${CMAKE_BINARY_DIR}/generated/emulated_decode)
set(translated_sources)
foreach(rung ${decode_rungs})
  file(GLOB device CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/ladder/${rung}/*.cu ${CMAKE_SOURCE_DIR}/ladder/${rung}/*.cuh)
  foreach(file ${device})
    set(out ${translated}/${file})
    if(file MATCHES "\\.cu$")
      string(APPEND out .cpp)
    endif()
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DIN=${CMAKE_SOURCE_DIR}/${file} -DOUT=${out}
              -P ${decode}/emulated/translate.cmake
      DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${decode}/emulated/translate.cmake VERBATIM)
    list(APPEND translated_sources ${out})
  endforeach()
endforeach()

add_executable(test_emulated_decode ${decode}/emulated_test.cpp ${translated_sources})
# The order matters: stand-ins, then translated files, then the tree.
target_include_directories(test_emulated_decode PRIVATE
  ${decode}/emulated ${CMAKE_SOURCE_DIR}/tests/kernels/emulated ${translated}
  ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CUDAToolkit_INCLUDE_DIRS})
# Warnings about device files are the device compiler's business.
target_compile_options(test_emulated_decode PRIVATE -w -include ${decode}/emulated/decode_machine.cuh)
target_link_libraries(test_emulated_decode PRIVATE raceline raceline_dependencies GTest::gtest_main)
gtest_discover_tests(test_emulated_decode DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)
