# SPDX-License-Identifier: Apache-2.0
# Programs that run device files on the host. The files are translated (translate.cmake), compiled
# against stand-ins for what the GPU does, and their launch() stands before the library's in the
# link, so that the registry runs them. Needs the toolkit's type headers, no GPU.

# raceline_emulated(NAME KERNELS name... SOURCES file... STAND_INS folder... MACHINE header
#                   [OPTIONS option...])
# STAND_INS: folders whose headers take the place of the tree's, the first one wins. MACHINE: the
# header that every unit begins with. Beside its
# own sources the program has tests/proof: each of its kernels goes through the gate.
function(raceline_emulated name)
  cmake_parse_arguments(PARSE_ARGV 1 its "" "MACHINE" "KERNELS;SOURCES;STAND_INS;OPTIONS")
  set(translate ${CMAKE_SOURCE_DIR}/tests/translate.cmake)
  set(translated ${CMAKE_BINARY_DIR}/generated/${name})
  set(emulated)
  # Whoever includes a header finds its translation first.
  set(files ${CMAKE_SOURCE_DIR}/src/registry/enqueue.cuh)
  foreach(kernel ${its_KERNELS})
    get_property(device GLOBAL PROPERTY RACELINE_DEVICE_${kernel})
    if(NOT device)  # a tree without it; below it is checked that none is forgotten
      continue()
    endif()
    list(APPEND emulated "\"${kernel}\"")
    list(GET device 0 first)
    get_filename_component(folder ${first} DIRECTORY)
    get_filename_component(track ${folder} DIRECTORY)
    file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.cuh ${track}/*.cuh)
    if(track MATCHES "/ladder/")  # a rung may be built on another one of its track
      file(GLOB others CONFIGURE_DEPENDS ${track}/*/*.cuh ${CMAKE_SOURCE_DIR}/ladder/tracks/*.cuh)
      list(APPEND headers ${others})
    endif()
    list(APPEND files ${device} ${headers})
    set_property(GLOBAL APPEND PROPERTY RACELINE_EMULATED ${kernel})
  endforeach()
  list(REMOVE_DUPLICATES files)
  set(units)
  foreach(file ${files})
    file(RELATIVE_PATH out ${CMAKE_SOURCE_DIR} ${file})
    string(REGEX REPLACE "^src/" "" out ${out})
    if(file MATCHES "^${CMAKE_BINARY_DIR}")
      file(RELATIVE_PATH out ${CMAKE_BINARY_DIR}/generated ${file})
    endif()
    set(out ${translated}/${out})
    if(file MATCHES "\\.cu$")
      string(APPEND out .cpp)
    endif()
    list(APPEND units ${out})
    add_custom_command(OUTPUT ${out}
      COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${out} -P ${translate}
      DEPENDS ${file} ${translate} VERBATIM)
  endforeach()

  add_executable(${name} ${its_SOURCES} ${CMAKE_SOURCE_DIR}/tests/proof/proof.cpp
                 ${CMAKE_SOURCE_DIR}/tests/proof/emulated_case.cpp
                 ${CMAKE_SOURCE_DIR}/tests/proof/emulated_proof.cpp ${units})
  list(JOIN emulated ", " emulated)
  target_compile_definitions(${name} PRIVATE "RACELINE_EMULATED=${emulated}")
  # The order matters: stand-ins, then translated files, then the tree.
  target_include_directories(${name} PRIVATE ${its_STAND_INS} ${translated} ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${CUDAToolkit_INCLUDE_DIRS})
  # Warnings about device files are the device compiler's business.
  target_compile_options(${name} PRIVATE -w ${its_OPTIONS} -include ${its_MACHINE})
  target_link_libraries(${name} PRIVATE raceline raceline_dependencies GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)
endfunction()

# What the sources of a kernel's folder ask of an emulated machine: `library` where no device code is
# its own, `plain` where each PTX wrapper that they reach has a stand-in of the plain machine, else
# `tensor`. Read anew when a source changes.
function(raceline_machine_of path out)
  file(GLOB queue CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cu ${CMAKE_SOURCE_DIR}/${path}/*.cuh
                                    ${CMAKE_SOURCE_DIR}/${path}/*.hpp)
  set(machine library)
  set(seen)
  while(queue)
    list(POP_FRONT queue file)
    list(APPEND seen ${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    if(machine STREQUAL "library" AND text MATCHES "__global__")
      set(machine plain)
    endif()
    string(REGEX MATCHALL "\n#include \"(gpu|kernels|ladder)/[^\"]+" includes "${text}")
    foreach(include ${includes})
      string(REGEX REPLACE "^[^\"]*\"" "" include "${include}")
      set(header ${CMAKE_SOURCE_DIR}/${include})
      if(NOT include MATCHES "^gpu/ptx/" AND NOT header IN_LIST seen)
        list(APPEND queue ${header})
      elseif(include MATCHES "^gpu/ptx/" AND
             NOT EXISTS ${CMAKE_SOURCE_DIR}/tests/kernels/emulated/${include})
        set(machine tensor)
      endif()
    endforeach()
  endwhile()
  set(${out} ${machine} PARENT_SCOPE)
endfunction()

# Names of all kernels below a folder that have device files of their own and that no program so far
# runs. MACHINE: those alone that ask for this one.
function(raceline_kernels_left folder out)
  cmake_parse_arguments(PARSE_ARGV 2 its "" "MACHINE" "")
  get_property(entries GLOBAL PROPERTY RACELINE_KERNELS)
  get_property(emulated GLOBAL PROPERTY RACELINE_EMULATED)
  set(names)
  foreach(entry ${entries})
    string(REGEX REPLACE "^([^:]*):([^:]*):.*" "\\1;\\2" both ${entry})
    list(GET both 0 path)
    list(GET both 1 name)
    get_property(device GLOBAL PROPERTY RACELINE_DEVICE_${name})
    if(NOT path MATCHES "^${folder}/" OR NOT device OR name IN_LIST emulated)
      continue()
    endif()
    raceline_machine_of(${path} machine)
    if(NOT machine STREQUAL "library" AND (NOT its_MACHINE OR machine STREQUAL its_MACHINE))
      list(APPEND names ${name})
    endif()
  endforeach()
  set(${out} ${names} PARENT_SCOPE)
endfunction()
