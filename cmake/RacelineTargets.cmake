# SPDX-License-Identifier: Apache-2.0
# The library: modules in layer order, kernels, the generated sources, static and shared.
set(generated ${PROJECT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${generated})

foreach(module support receipt timing workload device probe model registry run tune api report plot)
  raceline_module(${module})
endforeach()
foreach(module device registry report plot)
  raceline_compile_quickly(rl_${module})
endforeach()
# Every row of every receipt goes through these, which is a loop: a tenth of `raceline report` at -Og.
raceline_compile_at(-O1 rl_receipt)
raceline_compile_at(-O1 rl_support)
# Of modules whose other files compute answers, are timed or call what is: what is run once a case.
raceline_part(workload suites -O1 benchmark_suites operation_suites random_suite serving_suite suites
              tool_suites)
raceline_part(run reports -O1 call_caveats case_seconds ceiling_run commit_build memory_need past_errors
              point_json point_names repredict replay_backend row_errors run_case verdict)
raceline_part(api reports -O1 c_check c_receipt c_timing engine_memory point predict)
# What tools/residuals.cpp needs too, compiled once for both.
raceline_part(support base -O1 fmt gzip nearest sha256)
target_include_directories(rl_support_base PRIVATE ${ZLIB_INCLUDE_DIRS})
raceline_part(receipt past -O1 index_line past_measurement residuals rows stored_text)
raceline_part(workload shapes -O1 operation operation_shape plainest shape_field shape_format
              shape_grammar tree validation workload)
raceline_part(report sight -O1 first_sight)

foreach(module support receipt timing workload device probe model registry run tune api report plot)
  raceline_compile_in_batches(rl_${module})
endforeach()
# Loops that are timed are compiled alone: what they become must not depend on their neighbours.
set(timed arithmetic dot_bf16 dram memory team vector)
list(TRANSFORM timed PREPEND ${PROJECT_SOURCE_DIR}/src/probe/)
list(TRANSFORM timed APPEND .cpp)
set_source_files_properties(${timed} ${PROJECT_SOURCE_DIR}/src/timing/cpu_clock.cpp
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)

file(GLOB records CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/operations/*/*.cpp)
set(folders)
foreach(record ${records})
  get_filename_component(folder ${record} DIRECTORY)
  list(APPEND folders ${folder})
endforeach()
list(REMOVE_DUPLICATES folders)
add_library(operations OBJECT)
raceline_host_options(operations)
raceline_compile_in_batches(operations)
target_link_libraries(operations PRIVATE OpenMP::OpenMP_CXX)
foreach(folder ${folders})
  raceline_operation(${folder})
endforeach()
target_sources(rl_workload PRIVATE $<TARGET_OBJECTS:operations>)
set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:operations>)

# What the rungs of a track share on the host.
file(GLOB tracks LIST_DIRECTORIES true CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ladder/*)
foreach(track ${tracks})
  file(GLOB shared CONFIGURE_DEPENDS ${track}/*.cpp)
  if(shared)
    get_filename_component(name ${track} NAME)
    add_library(ladder_${name} OBJECT ${shared})
    raceline_host_options(ladder_${name})
    raceline_compile_quickly(ladder_${name})
    set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:ladder_${name}>)
  endif()
endforeach()

# Its headers may come after the first build: a command that differs is run again, and no cache of
# compiled files takes the one for the other.
find_file(RACELINE_ONEDNN_HEADER oneapi/dnnl/dnnl.h)
if(RACELINE_ONEDNN_HEADER)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/kernels/linear_onednn/launch.cpp
                              PROPERTIES COMPILE_DEFINITIONS RACELINE_ONEDNN_IS_INSTALLED)
endif()

foreach(tree kernels ladder)
  # Files are globbed, so that a new folder re-runs CMake on the next build.
  set(folders */)
  if(tree STREQUAL "ladder")
    set(folders */*/)  # a rung stands in its track
  endif()
  file(GLOB records CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${tree}/${folders}*.cpp)
  set(folders)
  foreach(record ${records})
    get_filename_component(folder ${record} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  # By name, whatever the track.
  list(TRANSFORM folders REPLACE "^(.*)/([^/]+)$" "\\2=\\0")
  list(SORT folders)
  list(TRANSFORM folders REPLACE "^[^=]*=" "")
  foreach(folder ${folders})
    raceline_kernel(${tree} ${folder})
  endforeach()
  raceline_records_of_gpus(${tree})
endforeach()

# The generator is a host program of its own: it must exist before anything else is compiled.
add_executable(embed tools/embed.cpp src/support/sha256.cpp)
target_include_directories(embed PRIVATE src include ${LIBMD_INCLUDE})
target_link_libraries(embed PRIVATE ${LIBMD_LIBRARY})

file(GLOB data CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     devices/*.json receipts/*/ceilings.jsonl receipts/*/power.jsonl ladder/lessons.md ladder/*.json docs/machine_code.json)
list(TRANSFORM data PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE data_files)
add_custom_command(
  OUTPUT ${generated}/embedded_files.cpp
  COMMAND embed files ${generated}/embedded_files.cpp ${PROJECT_SOURCE_DIR} embedded_files ${data}
  DEPENDS embed ${data_files} VERBATIM)

# The errors of earlier predictions, of which bands are made, and what was measured. A sanitizer would
# slow down what it shares with the library: it reads every committed receipt.
set(shared rl_support_base rl_receipt_past rl_workload_shapes rl_report_sight)
set(shared_code)
foreach(part ${shared})
  if(RACELINE_SANITIZE OR RACELINE_FUZZ)
    get_target_property(files ${part} SOURCES)
    list(APPEND shared_code ${files})
  else()
    list(APPEND shared_code $<TARGET_OBJECTS:${part}>)
  endif()
endforeach()
add_executable(collect_residuals tools/residuals.cpp ${shared_code})
raceline_compile_quickly(collect_residuals)
raceline_compile_in_batches(collect_residuals)
target_include_directories(collect_residuals PRIVATE src include ${LIBMD_INCLUDE})
target_link_libraries(collect_residuals PRIVATE ${LIBMD_LIBRARY} ZLIB::ZLIB OpenMP::OpenMP_CXX)
file(GLOB receipts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/receipts/*/*.jsonl
     ${PROJECT_SOURCE_DIR}/receipts/*/*.jsonl.gz
     ${PROJECT_SOURCE_DIR}/receipts/index.jsonl* ${PROJECT_SOURCE_DIR}/receipts/manifest.jsonl)
add_custom_command(
  OUTPUT ${generated}/residuals.cpp
  COMMAND collect_residuals ${generated}/residuals.cpp ${PROJECT_SOURCE_DIR}/receipts
  DEPENDS collect_residuals ${receipts} VERBATIM)

# Receipts and `raceline --version` name it, and machine code is compared among builds of one type.
set(build_type ${CMAKE_BUILD_TYPE})
if(RACELINE_SIMD_TARGET)
  target_compile_definitions(rl_device PRIVATE RACELINE_SIMD_TARGET=HWY_${RACELINE_SIMD_TARGET})
  string(APPEND build_type ", ${RACELINE_SIMD_TARGET} alone")
endif()

# Hashes and the git state are looked at in every build; files change only if their content does.
get_property(kernels GLOBAL PROPERTY RACELINE_KERNELS)
list(JOIN kernels "," kernel_list)
get_property(operations GLOBAL PROPERTY RACELINE_OPERATIONS)
list(JOIN operations "," operation_list)
add_custom_target(build_info_files
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${generated}
          -DEMBED=$<TARGET_FILE:embed> -DKERNELS=${kernel_list}
          -DOPERATIONS=${operation_list} -DVERSION=${PROJECT_VERSION}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-DBUILD_TYPE=${build_type}" "-DCUDA=${CUDAToolkit_VERSION}"
          -P ${PROJECT_SOURCE_DIR}/tools/build_info.cmake
  BYPRODUCTS ${generated}/build_info.cpp ${generated}/kernels.inc ${generated}/operations.inc
  DEPENDS embed COMMENT "Writing what the program knows of its build" VERBATIM)

add_library(rl_build_info STATIC ${generated}/build_info.cpp ${generated}/embedded_files.cpp
            ${generated}/residuals.cpp)
raceline_host_options(rl_build_info)
add_dependencies(rl_build_info build_info_files)
foreach(module workload registry)
  if(TARGET rl_${module})
    add_dependencies(rl_${module} build_info_files)
  endif()
endforeach()
set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:rl_build_info>)
set_property(GLOBAL APPEND PROPERTY RACELINE_MODULES rl_build_info)

# What the kernels were compiled to. Its own library: whoever needs it needs every kernel compiled.
add_executable(code_hash tools/code_hash.cpp src/support/sha256.cpp)
target_include_directories(code_hash PRIVATE src include ${LIBMD_INCLUDE})
target_link_libraries(code_hash PRIVATE ${LIBMD_LIBRARY})
get_property(kernel_objects GLOBAL PROPERTY RACELINE_KERNEL_OBJECTS)
get_property(code GLOBAL PROPERTY RACELINE_CODE)
add_custom_command(
  OUTPUT ${generated}/code_hashes.cpp
  COMMAND code_hash ${generated}/code_hashes.cpp ${code}
  DEPENDS code_hash ${kernel_objects} COMMAND_EXPAND_LISTS VERBATIM)
add_library(rl_code_hashes STATIC ${generated}/code_hashes.cpp)
raceline_host_options(rl_code_hashes)
set_property(GLOBAL APPEND PROPERTY RACELINE_OBJECTS $<TARGET_OBJECTS:rl_code_hashes>)

add_library(raceline_dependencies INTERFACE)
target_link_libraries(raceline_dependencies INTERFACE
  OpenMP::OpenMP_CXX hwy::hwy ${LIBMD_LIBRARY} ZLIB::ZLIB ${CMAKE_DL_LIBS}
  $<$<BOOL:${RACELINE_HAS_CUDA}>:CUDA::cudart_static>)

get_property(objects GLOBAL PROPERTY RACELINE_OBJECTS)
add_library(raceline STATIC ${objects})
add_library(raceline::raceline ALIAS raceline)
raceline_host_options(raceline)
set_target_properties(raceline PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME raceline)
target_compile_features(raceline INTERFACE cxx_std_20)  # its headers, in programs that ask for less
target_link_libraries(raceline PUBLIC $<BUILD_INTERFACE:raceline_dependencies>)

# Run by hand: moves receipts out of the work tree (docs/receipts.md).
add_executable(receipt_index tools/receipt_index.cpp)
raceline_compile_quickly(receipt_index)
raceline_host_options(receipt_index)
target_link_libraries(receipt_index PRIVATE raceline)
