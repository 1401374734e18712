# SPDX-License-Identifier: Apache-2.0
# The page of `raceline report --html`: in a browser, and the model in it against the native one.
# tools/bootstrap.sh test installs Chromium, selenium and emscripten.
set(page_tests ${CMAKE_CURRENT_LIST_DIR})
foreach(program questions many_rows)
  add_executable(page_${program} ${page_tests}/${program}.cpp)
  raceline_host_options(page_${program})
  target_link_libraries(page_${program} PRIVATE rl_page raceline)
endforeach()

raceline_test(page rl_page raceline ZLIB::ZLIB)

find_program(RACELINE_NODE node)
if(build_page_model AND RACELINE_NODE AND Python3_FOUND)
  add_test(NAME page_model_agrees
           COMMAND ${Python3_EXECUTABLE} -B ${page_tests}/agreement.py
                   --questions $<TARGET_FILE:page_questions> --model ${page_model_js}
                   --kernels ${CMAKE_BINARY_DIR}/generated/kernels.inc)
  add_test(NAME page_model_agrees_refuses
           COMMAND ${Python3_EXECUTABLE} -B -m unittest discover -s ${page_tests} -p "test_agreement.py")
  set_tests_properties(page_model_agrees page_model_agrees_refuses
                       PROPERTIES LABELS no_sanitizer TIMEOUT 180)
endif()

if(build_page_model AND CMAKE_GENERATOR STREQUAL "Ninja" AND Python3_FOUND)
  add_test(NAME page_model_inputs
           COMMAND ${Python3_EXECUTABLE} -B ${page_tests}/model_inputs.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
endif()

find_program(RACELINE_CHROMIUM NAMES chromium chromium-browser google-chrome)
find_program(RACELINE_CHROMEDRIVER NAMES chromedriver)
set(page_python "")
if(RACELINE_TEST_PYTHON)
  execute_process(COMMAND ${RACELINE_TEST_PYTHON} -c "import selenium"
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    set(page_python ${RACELINE_TEST_PYTHON})
  endif()
endif()
if(page_python AND RACELINE_CHROMIUM AND RACELINE_CHROMEDRIVER AND NOT RACELINE_SANITIZE)
  add_test(NAME page_in_browser
           COMMAND ${page_python} -B ${page_tests}/in_browser.py)
  # Alone: it judges how fast a page opens. It has four minutes on two quiet cores, and twice that where
  # others use them; .ci/run says how long it took.
  set_tests_properties(page_in_browser PROPERTIES LABELS no_sanitizer TIMEOUT 480 RUN_SERIAL TRUE
    ENVIRONMENT "RACELINE=$<TARGET_FILE:raceline_cli>;RACELINE_SOURCE=${CMAKE_SOURCE_DIR};\
MANY_ROWS=$<TARGET_FILE:page_many_rows>;SCREENSHOTS=${CMAKE_BINARY_DIR}/page_screenshots;CHROMIUM=${RACELINE_CHROMIUM};\
CHROMEDRIVER=${RACELINE_CHROMEDRIVER}")
else()
  message(STATUS "raceline: pages are not tested in a browser; tools/bootstrap.sh test sets it up")
endif()
