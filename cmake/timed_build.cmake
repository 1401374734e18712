# SPDX-License-Identifier: Apache-2.0
# Builds a folder, and leaves in its file `seconds` how long that took:
#   cmake -DBUILD=DIR -P cmake/timed_build.cmake
string(TIMESTAMP began "%s" UTC)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${BUILD} was not built")
endif()
string(TIMESTAMP ended "%s" UTC)
math(EXPR seconds "${ended} - ${began}")
file(WRITE ${BUILD}/seconds "${seconds}\n")
message(STATUS "${BUILD} was built in ${seconds} s")
