# SPDX-License-Identifier: Apache-2.0
# Registers the test of the installed package. A sanitizer's runtime would have to be in the
# examples too: there the test would show nothing but that.
if(NOT RACELINE_SANITIZE AND NOT RACELINE_FUZZ)
  add_test(NAME installed_package
    COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${CMAKE_SOURCE_DIR}
            -DWORK=${CMAKE_BINARY_DIR}/installed -DCXX=${CMAKE_CXX_COMPILER}
            -DC=${CMAKE_C_COMPILER} -P ${CMAKE_CURRENT_SOURCE_DIR}/api/install_check.cmake)
  set_tests_properties(installed_package PROPERTIES TIMEOUT 120)
endif()
