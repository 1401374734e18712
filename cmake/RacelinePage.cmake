# SPDX-License-Identifier: Apache-2.0
# What `raceline report --html` and raceline.report_html write: src/page, and what a page is made of,
# compiled into the program and the Python package: page/, Vega from Debian's libjs-vega, and the
# model as WebAssembly where there is emscripten. Not in the library, which needs neither.
find_path(RACELINE_VEGA vega-view.min.js PATHS /usr/share/javascript/vega
          DOC "Folder of Vega's modules as they are in Debian's libjs-vega")
if(NOT RACELINE_VEGA)
  message(FATAL_ERROR "not found: Vega's modules, which pages are drawn with. On Debian and Ubuntu "
                      "`tools/bootstrap.sh build` installs them (libjs-vega); elsewhere name the "
                      "folder with -DRACELINE_VEGA=DIR.")
endif()
# What a view, its parser and the transforms in use need, each after what it needs itself.
set(vega_modules util time format loader canvas statistics dataflow expression event-selector scale
    scenegraph selection functions runtime parser view transforms view-transforms encode)

set(RACELINE_PAGE_MODEL AUTO CACHE STRING
    "The model in pages as WebAssembly: AUTO (if em++ is found, for tests and wheels), ON, OFF")
set(page_model_sources)
find_program(RACELINE_EMXX em++)
set(build_page_model ${RACELINE_PAGE_MODEL})
if(RACELINE_PAGE_MODEL STREQUAL "AUTO")
  set(build_page_model OFF)
  if(RACELINE_EMXX AND (BUILD_TESTING OR SKBUILD) AND NOT RACELINE_SANITIZE AND NOT RACELINE_FUZZ)
    set(build_page_model ON)
  endif()
elseif(RACELINE_PAGE_MODEL AND NOT RACELINE_EMXX)
  message(FATAL_ERROR "RACELINE_PAGE_MODEL=ON needs em++: `tools/bootstrap.sh page` installs it")
endif()

if(build_page_model)
  set(ninja)
  if(CMAKE_GENERATOR STREQUAL "Ninja")  # pip brings its own, which nobody else finds
    set(ninja -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM})
  endif()
  set(page_model ${PROJECT_BINARY_DIR}/page_model)
  set(page_model_js ${page_model}/raceline_model.js)
  # Only these: in /usr/include stand headers of another C library.
  get_target_property(json_headers nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(fmt_headers fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  file(COPY ${json_headers}/nlohmann ${fmt_headers}/fmt DESTINATION ${page_model}/headers)
  get_filename_component(emscripten ${RACELINE_EMXX} REALPATH)
  get_filename_component(emscripten ${emscripten} DIRECTORY)
  find_path(RACELINE_EMSCRIPTEN cmake/Modules/Platform/Emscripten.cmake
            PATHS ${emscripten} /usr/share/emscripten REQUIRED NO_DEFAULT_PATH)
  file(GLOB_RECURSE page_model_inputs CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/*.hpp ${PROJECT_SOURCE_DIR}/kernels/*.?pp ${PROJECT_SOURCE_DIR}/ladder/*.?pp
       ${PROJECT_SOURCE_DIR}/operations/*.?pp ${PROJECT_SOURCE_DIR}/src/model/*.cpp
       ${PROJECT_SOURCE_DIR}/src/workload/*.cpp ${PROJECT_SOURCE_DIR}/src/registry/*.cpp
       ${PROJECT_SOURCE_DIR}/src/device/*.cpp ${PROJECT_SOURCE_DIR}/src/tune/*.cpp
       ${PROJECT_SOURCE_DIR}/src/support/*.cpp ${PROJECT_SOURCE_DIR}/src/page/what_if.cpp
       ${PROJECT_SOURCE_DIR}/src/api/engine_*.cpp ${PROJECT_SOURCE_DIR}/src/run/past_errors.cpp
       ${PROJECT_SOURCE_DIR}/src/run/memory_need.cpp ${PROJECT_SOURCE_DIR}/src/run/call_caveats.cpp
       ${PROJECT_SOURCE_DIR}/page/model/*)
  # Debian's tools look for their JavaScript packages here; another node than Debian's does not.
  set(emscripten_environment ${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs)
  if(RACELINE_CCACHE)
    list(APPEND emscripten_environment EM_COMPILER_WRAPPER=${RACELINE_CCACHE} CCACHE_NOHASHDIR=1
         CCACHE_BASEDIR=${PROJECT_SOURCE_DIR})
  endif()
  add_custom_command(
    OUTPUT ${page_model_js}
    COMMAND ${emscripten_environment} ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR}/page/model
            -B ${page_model} -G Ninja ${ninja} -DSOURCE=${PROJECT_SOURCE_DIR}
            -DKERNELS=${PROJECT_BINARY_DIR}/generated/kernels.inc -DHEADERS=${page_model}/headers
            -DCMAKE_TOOLCHAIN_FILE=${RACELINE_EMSCRIPTEN}/cmake/Modules/Platform/Emscripten.cmake
    COMMAND ${emscripten_environment} ${CMAKE_COMMAND} -DBUILD=${page_model}
            -P ${PROJECT_SOURCE_DIR}/cmake/timed_build.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${page_model_js}
    DEPENDS build_info_files ${PROJECT_BINARY_DIR}/generated/kernels.inc
            ${PROJECT_BINARY_DIR}/generated/residuals.cpp ${page_model_inputs}
    COMMENT "Compiling the model to WebAssembly" VERBATIM)
  add_custom_target(page_model DEPENDS ${page_model_js})
  set(page_model_sources page/model.js=${page_model_js})
else()
  message(STATUS "raceline: pages get no what-if panel; tools/bootstrap.sh page installs emscripten")
endif()

file(GLOB page_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/page/*.html ${PROJECT_SOURCE_DIR}/page/*.css ${PROJECT_SOURCE_DIR}/page/*.js)
list(TRANSFORM page_files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE page_paths)
set(vega_sources)
foreach(module ${vega_modules})
  list(APPEND page_paths ${RACELINE_VEGA}/vega-${module}.min.js)
  list(APPEND vega_sources vega/vega-${module}.min.js=${RACELINE_VEGA}/vega-${module}.min.js)
endforeach()
set(page_sources ${PROJECT_BINARY_DIR}/generated/page_sources.cpp)
add_custom_command(OUTPUT ${page_sources}
  COMMAND embed files ${page_sources} ${PROJECT_SOURCE_DIR} page_sources ${page_files} ${vega_sources}
          ${page_model_sources}
  DEPENDS embed ${page_paths} ${page_model_js} VERBATIM)

# The code of the ladder's rungs, on pages and for `raceline kernels --diff`.
file(GLOB rungs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/ladder/*/*/*.cpp ${PROJECT_SOURCE_DIR}/ladder/*/*/*.hpp
     ${PROJECT_SOURCE_DIR}/ladder/*/*/*.cu ${PROJECT_SOURCE_DIR}/ladder/*/*/*.cuh)
list(TRANSFORM rungs PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE rung_files)
set(ladder_sources ${PROJECT_BINARY_DIR}/generated/ladder_sources.cpp)
add_custom_command(OUTPUT ${ladder_sources}
  COMMAND embed files ${ladder_sources} ${PROJECT_SOURCE_DIR} ladder_sources ${rungs}
  DEPENDS embed ${rung_files} VERBATIM)

file(GLOB page_host CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/page/*.cpp)
add_library(rl_page STATIC ${page_host} ${page_sources} ${ladder_sources})
raceline_host_options(rl_page)
raceline_compile_at(-Og rl_page) # at -O1 g++ 12 takes a member of an empty std::optional for read
raceline_compile_in_batches(rl_page)
target_link_libraries(rl_page PUBLIC raceline)
