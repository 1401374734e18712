# SPDX-License-Identifier: Apache-2.0
# Functions that turn a folder of the tree into a target. Globs use CONFIGURE_DEPENDS: a new file or
# kernel folder is picked up by `cmake --build` alone.

set(RACELINE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports std::string concatenation (GCC bug 105651); clang does not know the option.
  list(APPEND RACELINE_WARNINGS -Wno-restrict)
endif()

function(raceline_host_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}
                                               ${PROJECT_BINARY_DIR}/generated)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${RACELINE_WARNINGS}>)
  if(RACELINE_SANITIZE)
    # A finding ends the program: one that only prints would pass for clean.
    set(sanitize -fsanitize=${RACELINE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
                 -gline-tables-only)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:${sanitize}> $<$<COMPILE_LANGUAGE:C>:${sanitize}>)
    target_link_options(${target} PUBLIC -fsanitize=${RACELINE_SANITIZE})
  endif()
  # What fuzzers look for lies in the library, not in tests of it.
  if(RACELINE_FUZZ AND NOT target MATCHES "^test_")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
  endif()
endfunction()

# Code that is run once a command and not in a loop: what -O3 would add is time to compile it, a
# quarter to a half of it. Of -O1, -Og leaves out a fifth more of g++'s time; to clang they are the
# same. The last -O counts; builds with less than -O2 keep theirs.
function(raceline_compile_at level target)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  if(CMAKE_CXX_FLAGS_${build_type} MATCHES "-O[23]")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${level}>)
  endif()
endfunction()

function(raceline_compile_quickly target)
  raceline_compile_at(-Og ${target})
endfunction()

# Host files that share their headers are compiled some at a time: most of what one takes alone is
# reading them. A file that names itself for Highway cannot; nor can a sanitizer's build gain by it.
function(raceline_compile_in_batches target size)
  if(RACELINE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# src/NAME -> static library rl_NAME. Files named *_nocuda.cpp stand in for the .cu and .cpp files
# of the same name in a build without CUDA. .cu builds for RACELINE_CUDA_ARCHS, .sm90a.cu for 90a.
function(raceline_module name)
  file(GLOB host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  file(GLOB device CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cu)
  if(RACELINE_HAS_CUDA)
    list(FILTER host EXCLUDE REGEX "_nocuda\\.cpp$")
  else()
    set(device)
    # x_nocuda.cpp takes the place of x.cpp as well, where x is host code over the CUDA runtime.
    foreach(stand_in ${host})
      if(stand_in MATCHES "_nocuda\\.cpp$")
        string(REPLACE "_nocuda.cpp" ".cpp" original ${stand_in})
        list(REMOVE_ITEM host ${original})
      endif()
    endforeach()
  endif()
  if(NOT host AND NOT device)
    return()
  endif()
  add_library(rl_${name} STATIC ${host})
  raceline_host_options(rl_${name})
  target_link_libraries(rl_${name} PRIVATE OpenMP::OpenMP_CXX)
  raceline_device_objects(rl_${name} "${device}" objects)
  target_sources(rl_${name} PRIVATE ${objects})
  # TARGET_OBJECTS of a library lists what it compiles itself, not the objects it was given.
  set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:rl_${name}> ${objects})
  set_property(GLOBAL APPEND PROPERTY RACELINE_MODULES rl_${name})
endfunction()

# Device files of one folder -> one OBJECT library per architecture list; their objects in OUT.
function(raceline_device_objects owner files out)
  set(found)
  set(plain ${files})
  list(FILTER plain EXCLUDE REGEX "\\.sm90a\\.cu$")
  set(sm90a ${files})
  list(FILTER sm90a INCLUDE REGEX "\\.sm90a\\.cu$")
  foreach(variant plain sm90a)
    if(${variant} AND RACELINE_HAS_CUDA)
      set(target ${owner}_${variant})
      add_library(${target} OBJECT ${${variant}})
      raceline_host_options(${target})
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v;$<$<BOOL:${RACELINE_LINEINFO}>:-lineinfo>;--expt-relaxed-constexpr;-Xcompiler=-Wall>)
      if(variant STREQUAL "sm90a")
        set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 90a-real)
      endif()
      list(APPEND found $<TARGET_OBJECTS:${target}>)
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Translation units for the instances of an engine (src/registry/instances.hpp), three tiles in each.
# The tiles are in PREFIXtile.hpp of the folder, the code in PREFIXforward.cuh or
# PREFIXforward.sm90a.cuh. The units are put into UNITS, the kernel's name into NAME.
function(raceline_instances folder prefix units name)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${folder})
  file(STRINGS ${folder}/${prefix}tile.hpp kernel REGEX "^namespace raceline::kernels::[a-z0-9_]+ {")
  string(REGEX REPLACE "^namespace raceline::kernels::([a-z0-9_]+) {" "\\1" kernel "${kernel}")
  file(STRINGS ${folder}/${prefix}tile.hpp declaration REGEX "std::array<Tile, [0-9]+> tiles{")
  if(NOT declaration MATCHES "std::array<Tile, ([0-9]+)> tiles{")
    message(FATAL_ERROR "${path}/${prefix}tile.hpp: no line `std::array<Tile, N> tiles{` to count by")
  endif()
  set(tiles ${CMAKE_MATCH_1})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${prefix}tile.hpp)
  math(EXPR count "(${tiles} + 2) / 3")
  set(suffix "")
  if(EXISTS ${folder}/${prefix}forward.sm90a.cuh)
    set(suffix .sm90a)
  endif()
  set(list)
  math(EXPR last "${count} - 1")
  foreach(shard RANGE ${last})
    set(unit ${PROJECT_BINARY_DIR}/generated/instances/${kernel}/forward_${shard}${suffix}.cu)
    file(CONFIGURE OUTPUT ${unit} CONTENT
"// Generated by cmake/RacelineModules.cmake: every ${count}th tile of ${path}, from ${shard} on.
#include \"${path}/${prefix}forward${suffix}.cuh\"
#include \"registry/instances.cuh\"

using raceline::kernels::${kernel}::Instances;
static_assert(Instances::tiles == ${tiles} && raceline::shards_of<Instances> == ${count});
template bool raceline::launch_of_shard<Instances, ${shard}>(int, int, const Instances::Params&,
                                                    const raceline::LaunchShape&);
" @ONLY)
    list(APPEND list ${unit})
  endforeach()
  set(${units} ${list} PARENT_SCOPE)
  set(${name} ${kernel} PARENT_SCOPE)
endfunction()

# The names of all records in host files.
function(raceline_records files out)
  set(names)
  foreach(file ${files})
    file(READ ${file} text)
    string(REGEX MATCHALL "\nRACELINE_(OPERATION_|CALL_)?KERNEL\\([ \n]*[a-z0-9_]+," found "${text}")
    foreach(line ${found})
      string(REGEX REPLACE "[^(]*\\([ \n]*([a-z0-9_]+)," "\\1" name "${line}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# kernels/NAME or ladder/TRACK/NAME -> OBJECT library kernel_NAME, and an entry in the generated list
# for each record. An engine may have several, one a policy (16 and 8 bits): each has a prefix, and
# the files that begin with it; files without one are shared.
function(raceline_kernel tree folder)
  get_filename_component(folder_name ${folder} NAME)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${folder})
  if(NOT folder_name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "${path}: a kernel folder's name must be a lower-case C identifier")
  endif()
  file(GLOB host CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB shared CONFIGURE_DEPENDS ${folder}/*.cu)
  raceline_records("${host}" records)
  if(NOT folder_name IN_LIST records)
    message(FATAL_ERROR "${path}: no RACELINE_KERNEL(${folder_name}, record) in its .cpp files")
  endif()
  set(forward)
  if(tree STREQUAL "kernels")  # a rung has few instances and names them itself
    file(GLOB forward CONFIGURE_DEPENDS ${folder}/*forward.cuh ${folder}/*forward.sm90a.cuh)
  endif()
  foreach(file ${forward})
    get_filename_component(prefix ${file} NAME)
    string(REGEX REPLACE "forward(.sm90a)?.cuh$" "" prefix ${prefix})
    raceline_instances(${folder} "${prefix}" units name)
    set(own ${shared})
    list(FILTER own INCLUDE REGEX "/${prefix}[^/]*$")
    if(prefix)
      list(REMOVE_ITEM shared ${own})
    else()
      set(own)
    endif()
    set(device_${name} ${own} ${units})
  endforeach()

  # What a GPU's kernel does on the host only describes it: raceline_records_of_gpus compiles that.
  file(GLOB any_device CONFIGURE_DEPENDS ${folder}/*.cu)
  set(all)
  if(any_device)
    set_property(GLOBAL APPEND PROPERTY RACELINE_GPU_HOST_${tree} ${host})
  else()
    add_library(kernel_${folder_name} OBJECT ${host})
    raceline_host_options(kernel_${folder_name})
    if(tree STREQUAL "ladder")
      raceline_compile_quickly(kernel_${folder_name})
    endif()
    target_link_libraries(kernel_${folder_name} PRIVATE OpenMP::OpenMP_CXX)
    set(all $<TARGET_OBJECTS:kernel_${folder_name}>)
  endif()
  set(ladder false)
  if(tree STREQUAL "ladder")
    set(ladder true)
  endif()
  foreach(name ${records})
    set(device ${device_${name}})
    set(of_kernel)
    if(name STREQUAL folder_name)
      list(PREPEND device ${shared})
      set(of_kernel ${all})
    endif()
    raceline_device_objects(kernel_${name} "${device}" objects)
    list(APPEND all ${objects})
    # A kernel with device files needs CUDA for its launch; one without runs on the host.
    set(launch 1)
    if(device AND NOT RACELINE_HAS_CUDA)
      set(launch 0)
    endif()
    set_property(GLOBAL APPEND PROPERTY RACELINE_KERNELS "${path}:${name}:${ladder}:${launch}")
    set(emulated ${shared} ${device})
    list(REMOVE_DUPLICATES emulated)
    set_property(GLOBAL PROPERTY RACELINE_DEVICE_${name} ${emulated})
    # For tools/code_hash.cpp, which takes kernels one after another.
    set_property(GLOBAL APPEND PROPERTY RACELINE_CODE ${name} ${of_kernel} ${objects} --)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS ${all})
  set_property(GLOBAL APPEND PROPERTY RACELINE_KERNEL_OBJECTS ${all})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder})
endfunction()

# Host files of all kernels of one tree that have device files -> OBJECT library TREE_of_gpus.
function(raceline_records_of_gpus tree)
  get_property(host GLOBAL PROPERTY RACELINE_GPU_HOST_${tree})
  if(host)
    add_library(${tree}_of_gpus OBJECT ${host})
    raceline_host_options(${tree}_of_gpus)
    if(tree STREQUAL "ladder")
      raceline_compile_quickly(${tree}_of_gpus)
    endif()
    raceline_compile_in_batches(${tree}_of_gpus 12)
    target_link_libraries(${tree}_of_gpus PRIVATE OpenMP::OpenMP_CXX)
    set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:${tree}_of_gpus>)
  endif()
endfunction()

# operations/NAME -> objects in rl_workload, and an entry in the generated list.
function(raceline_operation folder)
  get_filename_component(name ${folder} NAME)
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "operations/${name}: an operation's name must be a lower-case C identifier")
  endif()
  file(GLOB host CONFIGURE_DEPENDS ${folder}/*.cpp)
  add_library(operation_${name} OBJECT ${host})
  raceline_host_options(operation_${name})
  target_link_libraries(operation_${name} PRIVATE OpenMP::OpenMP_CXX)
  target_sources(rl_workload PRIVATE $<TARGET_OBJECTS:operation_${name}>)
  set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:operation_${name}>)
  set_property(GLOBAL APPEND PROPERTY RACELINE_OPERATIONS ${name})
endfunction()
