# SPDX-License-Identifier: BSD-3-Clause
# Read by ctest before it runs tests: each suite that `executable` lists becomes one test, `level.suite`, whose tests run in
# one process. Starting one for each test took longer than most tests do.
set(patience 600)  # seconds; it only lists
execute_process(COMMAND "${executable}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status
  TIMEOUT ${patience})
if(NOT status EQUAL 0)
  add_test("${level}.is_not_built" "${executable}" --gtest_list_tests)
  return()
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z_0-9/]+\\.(\n|  # TypeParam)" suites "${listed}")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "^\n|\\.(\n|  # TypeParam)$" "" suite "${suite}")
  add_test("${level}.${suite}" "${executable}" "--gtest_filter=${suite}.*")
  set_tests_properties("${level}.${suite}" PROPERTIES TIMEOUT ${timeout} LABELS ${level}
    ENVIRONMENT "${environment}")
endforeach()
