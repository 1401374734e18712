# SPDX-License-Identifier: Apache-2.0
# The site of docs/, built with every warning an error. `tools/bootstrap.sh test` sets up what it
# needs; without that it is left out, and said so.
find_program(RACELINE_DOXYGEN doxygen)
set(site_environment ${CMAKE_SOURCE_DIR}/build-lint/venv-site/requirements.txt)
set(site_ready OFF)
if(EXISTS ${site_environment})
  file(SHA256 ${site_environment} had)
  file(SHA256 ${CMAKE_SOURCE_DIR}/docs/requirements.txt wanted)
  if(had STREQUAL wanted)
    set(site_ready ON)
  endif()
endif()
if(RACELINE_DOXYGEN AND site_ready)
  add_test(NAME site_builds
           COMMAND ${CMAKE_SOURCE_DIR}/tools/site.sh ${CMAKE_BINARY_DIR}/site_test
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(site_builds PROPERTIES LABELS no_sanitizer TIMEOUT 120
                                              ENVIRONMENT RACELINE_NO_INSTALL=1)
else()
  message(STATUS "raceline: the site is not built in tests; tools/bootstrap.sh test sets it up")
endif()
