# SPDX-License-Identifier: Apache-2.0
# The Python package inside the build folder, for tests that call it, if there is a Python that can
# build and test it: tools/bootstrap.sh makes one in build-venv/. Sets RACELINE_TEST_PYTHON to its
# path, or to "". Sanitizers and fuzzers have runtimes that Python would have to be linked to.
set(venv ${PROJECT_SOURCE_DIR}/build-venv/bin/python)
set(RACELINE_TEST_PYTHON "")
if(EXISTS ${venv} AND NOT SKBUILD AND NOT RACELINE_SANITIZE AND NOT RACELINE_FUZZ)
  execute_process(COMMAND ${venv} -c "import hypothesis, nanobind, numpy"
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  set(Python_EXECUTABLE ${venv})
  find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
  if(NOT failed AND Python_Development.Module_FOUND)
    set(RACELINE_TEST_PYTHON ${venv})
    add_subdirectory(python)
  endif()
endif()
if(NOT RACELINE_TEST_PYTHON)
  message(STATUS "raceline: the test of bad input is left out; tools/bootstrap.sh test sets it up")
endif()
