# SPDX-License-Identifier: Apache-2.0
# RACELINE_SIMD=native: sets RACELINE_SIMD_TARGET to the one SIMD target, as Highway names it, that
# the kernels of the CPU are compiled for. Empty: all targets, and the best one is chosen at run time.
set(RACELINE_SIMD_TARGET "")
if(RACELINE_SIMD STREQUAL "native")
  try_run(simd_ran simd_compiled ${PROJECT_BINARY_DIR}/native_simd
          ${PROJECT_SOURCE_DIR}/cmake/native_simd.cpp
          LINK_LIBRARIES hwy::hwy
          RUN_OUTPUT_VARIABLE simd_target COMPILE_OUTPUT_VARIABLE simd_output)
  if(NOT simd_compiled OR NOT simd_ran EQUAL 0)
    message(FATAL_ERROR "RACELINE_SIMD=native: what this CPU runs cannot be asked: ${simd_output}")
  endif()
  # try_run asks once, and later runs of CMake only know that it has.
  if(simd_target)
    set(RACELINE_SIMD_FOUND ${simd_target} CACHE INTERNAL "SIMD target of the machine that builds")
  endif()
  set(RACELINE_SIMD_TARGET ${RACELINE_SIMD_FOUND})
elseif(NOT RACELINE_SIMD STREQUAL "all")
  message(FATAL_ERROR "RACELINE_SIMD=${RACELINE_SIMD}: all or native")
endif()
if(RACELINE_SIMD_TARGET)
  message(STATUS "raceline: kernels of the CPU are compiled for ${RACELINE_SIMD_TARGET} alone")
endif()

# The files of `target` that are written in Highway, for that one target. Highway gives each function its
# target, as it does where all are compiled; what g++ inlines in the smaller file may be another choice.
function(raceline_one_simd_target target)
  if(RACELINE_SIMD_TARGET)
    target_compile_definitions(${target} PRIVATE
      HWY_COMPILE_ONLY_STATIC HWY_BASELINE_TARGETS=HWY_${RACELINE_SIMD_TARGET})
  endif()
endfunction()
