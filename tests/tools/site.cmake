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
                                              ENVIRONMENT RACELINE_NO_INSTALL=1
                                              FIXTURES_SETUP site)
  # What it takes is found for the page of `raceline report --html` (tests/page/page.cmake).
  if(TEST page_in_browser)
    add_test(NAME site_in_browser
             COMMAND ${page_python} -B -m unittest -v test_site WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/page)
    set_tests_properties(site_in_browser PROPERTIES LABELS no_sanitizer TIMEOUT 180 FIXTURES_REQUIRED site
      ENVIRONMENT "SITE=${CMAKE_BINARY_DIR}/site_test;CHROMIUM=${RACELINE_CHROMIUM};\
CHROMEDRIVER=${RACELINE_CHROMEDRIVER}")
  endif()
else()
  message(STATUS "raceline: the site is not built in tests; tools/bootstrap.sh test sets it up")
endif()
