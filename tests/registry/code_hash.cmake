# SPDX-License-Identifier: Apache-2.0
# tools/code_hash.cpp: one source in two folders has one hash, also with another comment; another
# number has another. Run: cmake -DTOOL=… -DCXX=… -DNVCC=… -DWORK=… -P tests/registry/code_hash.cmake
file(REMOVE_RECURSE ${WORK})

function(hash_of out folder suffix text)
  file(WRITE ${WORK}/${folder}/kernel.${suffix} "${text}")
  set(object ${WORK}/${folder}/kernel.${suffix}.o)
  if(suffix STREQUAL "cu")
    set(compile ${NVCC} -std=c++17 -arch=sm_90 -c)
  else()
    set(compile ${CXX} -std=c++20 -O2 -g -c)
  endif()
  execute_process(COMMAND ${compile} ${WORK}/${folder}/kernel.${suffix} -o ${object}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${TOOL} ${WORK}/${folder}/hash.cpp kernel ${object}
                  COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${WORK}/${folder}/hash.cpp line REGEX "{\"kernel\"")
  set(${out} "${line}" PARENT_SCOPE)
endfunction()

function(compare suffix where before number after)
  hash_of(first one ${suffix} "${before}${number}${after}")
  hash_of(second another/folder ${suffix} "// A comment.\n\n${before}  ${number}${after}")
  hash_of(third third ${suffix} "${before}1${number}${after}")
  if(NOT first MATCHES "\"${where}:[0-9a-f]+\"")
    message(FATAL_ERROR "${suffix}: '${first}' has no hash of ${where}")
  elseif(NOT first STREQUAL second)
    message(FATAL_ERROR "${suffix}: another folder has another hash: ${first} and ${second}")
  elseif(first STREQUAL third)
    message(FATAL_ERROR "${suffix}: other code has the same hash: ${first}")
  endif()
endfunction()

compare(cpp host "
#include <string>
namespace { int twice(int x) { return x * x + " 237 "; } }
int run(int x, const std::string& text) { return twice(x) + static_cast<int>(text.size()); }
const char* where() { return __FILE__; }
")
if(NVCC)
  compare(cu sm_90 "
namespace { __global__ void twice(int* x) { *x = *x * *x + " 237 "; } }
void run(int* x) { twice<<<1, 1>>>(x); }
")
endif()
