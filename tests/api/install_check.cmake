# SPDX-License-Identifier: Apache-2.0
# Installs the built library into an empty folder and builds and runs both examples against it, as
# a user would. Needs BUILD, SOURCE, WORK; CXX and C are the compilers.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${failed}\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix} --component raceline)
foreach(language c cpp)
  set(compilers)
  if(language STREQUAL "cpp")
    set(compilers -DCMAKE_CXX_COMPILER=${CXX})
  else()
    set(compilers -DCMAKE_C_COMPILER=${C})
  endif()
  # Only the installed package may be found: an environment that knows others is cleared.
  run(${CMAKE_COMMAND} -E env --unset=CMAKE_PREFIX_PATH ${CMAKE_COMMAND}
      -S ${SOURCE}/examples/${language} -B ${WORK}/${language} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${compilers})
  run(${CMAKE_COMMAND} --build ${WORK}/${language})
  run(${WORK}/${language}/attention)
  message(STATUS "${said}")
endforeach()

# What a C program sees: rl_* and nothing else.
find_program(NM nm REQUIRED)
file(GLOB shared ${prefix}/lib*/libraceline.so ${prefix}/lib*/*/libraceline.so)
run(${NM} -D --defined-only --format=posix ${shared})
string(REGEX REPLACE "[^\n]* A [^\n]*\n" "" said "${said}")
string(REPLACE "\n" ";" symbols "${said}")
set(public 0)
foreach(symbol ${symbols})
  if(symbol MATCHES "^rl_")
    math(EXPR public "${public} + 1")
  else()
    message(FATAL_ERROR "libraceline.so exports ${symbol}, which is not of its interface")
  endif()
endforeach()
if(public LESS 20)
  message(FATAL_ERROR "libraceline.so exports only ${public} functions")
endif()
