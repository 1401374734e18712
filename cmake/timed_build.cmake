# SPDX-License-Identifier: Apache-2.0
# Builds a folder, and leaves in its file `seconds` how many seconds of processors that took, with all compilers:
#   cmake -DBUILD=DIR -P cmake/timed_build.cmake
# By the clock it would be a measure of what else runs. Of a folder in which anything was compiled before, which takes
# less, it leaves the file as it is.
file(GLOB_RECURSE compiled_before ${BUILD}/*.o)
set(times ${BUILD}/times)
# `times` of a POSIX shell: its own, and below those of what it waited for, as "0m1.25s 0m0.40s".
execute_process(COMMAND sh -c "\"$0\" --build \"$1\"; code=$?; times >\"$2\"; exit $code"
                        ${CMAKE_COMMAND} ${BUILD} ${times}
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${BUILD} was not built")
endif()
file(STRINGS ${times} lines)
file(REMOVE ${times})
list(GET lines 1 of_children)
string(REGEX MATCHALL "[0-9]+m[0-9]+[.][0-9]" parts "${of_children}")
set(tenths 0)
foreach(part ${parts})
  string(REGEX MATCH "([0-9]+)m([0-9]+)[.]([0-9])" part "${part}")
  math(EXPR tenths "${tenths} + 600 * ${CMAKE_MATCH_1} + 10 * ${CMAKE_MATCH_2} + ${CMAKE_MATCH_3}")
endforeach()
math(EXPR seconds "(${tenths} + 5) / 10")
if(compiled_before)
  message(STATUS "${BUILD} was built on, in ${seconds} s of processors")
else()
  file(WRITE ${BUILD}/seconds "${seconds}\n")
  message(STATUS "${BUILD} was built in ${seconds} s of processors")
endif()
