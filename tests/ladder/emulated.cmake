# SPDX-License-Identifier: Apache-2.0
# test_ladder_emulated: the rungs' device files, translated and compiled for the host. Their
# launch() stands before the library's in the link, so the registry runs them. Needs the toolkit's
# type headers, no GPU. The rungs for decoding have a test and stand-ins of their own.
if(NOT RACELINE_HAS_CUDA)
  return()
endif()
set(rungs tiled online fused wmma minimal block warp light_barriers tensor_cores wide_vectors)
set(emulated ${CMAKE_SOURCE_DIR}/tests/ladder/emulated)
set(translated ${CMAKE_BINARY_DIR}/generated/ladder)
set(translated_sources)
set(names)
set(device)
foreach(rung ${rungs})
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/ladder/${rung}/*.cu ${CMAKE_SOURCE_DIR}/ladder/${rung}/*.cuh)
  list(APPEND device ${files})
  list(APPEND names "\"${rung}\"")
endforeach()
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
list(JOIN names ", " names)

add_executable(test_ladder_emulated ${emulated}/rungs_test.cpp ${translated_sources})
target_compile_definitions(test_ladder_emulated PRIVATE "RACELINE_EMULATED=${names}")
# The order matters: stand-ins, then translated files, then the tree.
target_include_directories(test_ladder_emulated PRIVATE
  ${emulated} ${CMAKE_SOURCE_DIR}/tests/kernels/emulated ${translated} ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CUDAToolkit_INCLUDE_DIRS})
# Warnings about device files are the device compiler's business.
target_compile_options(test_ladder_emulated PRIVATE -w -include ${emulated}/machine.cuh)
target_link_libraries(test_ladder_emulated PRIVATE raceline raceline_dependencies GTest::gtest_main)
gtest_discover_tests(test_ladder_emulated DISCOVERY_TIMEOUT 60)
