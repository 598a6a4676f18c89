# SPDX-License-Identifier: BSD-3-Clause
# Rooms of tests, and the stages of scripts/test that the first lines of a test name.

# The stage to which this build belongs.
if(WEFT_SANITIZE MATCHES thread)
  set(WEFT_STAGE tsan)
elseif(WEFT_SANITIZE)
  set(WEFT_STAGE asan)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  set(WEFT_STAGE clang)
else()
  set(WEFT_STAGE release)
endif()

# weft_read_comment(result source key default...)
# The words of the line `// key: words` of a source, or `# key: words` of a script; the default where it has none.
function(weft_read_comment result source key)
  file(STRINGS ${source} line REGEX "^(//|#) ${key}: " LIMIT_COUNT 1)
  if(line)
    string(REGEX REPLACE "^(//|#) ${key}: *" "" line "${line}")
    string(REGEX REPLACE " +" ";" line "${line}")
    set(${result} ${line} PARENT_SCOPE)
  else()
    set(${result} ${ARGN} PARENT_SCOPE)
  endif()
endfunction()

# weft_says(result source words): whether a line of the source is `// words`, or of a script `# words`.
function(weft_says result source words)
  file(STRINGS ${source} line REGEX "^(//|#) ${words}" LIMIT_COUNT 1)
  if(line)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# weft_is_of_stage(result source stage default...)
# Whether a test runs in a stage: where the line `stages:` of its first lines names it, or the default where there is no
# such line. With WEFT_LONG it runs in each, but `not under sanitizers` holds there, too.
function(weft_is_of_stage result source stage)
  weft_read_comment(stages ${source} stages ${ARGN})
  weft_says(not_sanitized ${source} "not under sanitizers")
  set(is_of_stage FALSE)
  if((WEFT_LONG OR stage IN_LIST stages) AND NOT (not_sanitized AND WEFT_SANITIZE))
    set(is_of_stage TRUE)
  endif()
  set(${result} ${is_of_stage} PARENT_SCOPE)
endfunction()

# A test for each suite of `target`, called `level`.SUITE.
function(weft_add_suites level target timeout environment)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  file(GENERATE OUTPUT ${file} CONTENT "set(level ${level})
set(executable \"$<TARGET_FILE:${target}>\")
set(timeout ${timeout})
set(environment \"${environment}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/test_suites.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# The objects of a test with the library without fast paths (WEFT_FAST), whole, so that nothing is taken from the other.
function(weft_link_general target)
  add_dependencies(${target} weft-general)
  target_link_libraries(${target} PRIVATE -Wl,--whole-archive $<TARGET_FILE:weft-general> -Wl,--no-whole-archive
    weft-test-support)
endfunction()

# weft_test_room(STAGES stage... [TIMEOUT seconds] [LINK library...] [ENVIRONMENT name=value] [EACH] [OPTIMIZED])
# All sources of this folder as one executable, weft-<room>-tests, where <room> is the folder's path from tests/. Its tests
# are called <room>.SUITE, with points for slashes. STAGES: those of a source that names none. A room with stage `general`
# runs once more in stage release, with the library without fast paths: general.<room>.SUITE. EACH: every test is a process
# of its own, not every suite, and every source is compiled by itself. OPTIMIZED: it runs longer than it compiles where a
# sanitizer watches threads.
function(weft_test_room)
  cmake_parse_arguments(PARSE_ARGV 0 room "EACH;OPTIMIZED" "TIMEOUT;ENVIRONMENT" "STAGES;LINK")
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "." level ${path})
  string(REPLACE "/" "-" target weft-${path}-tests)
  file(GLOB found CONFIGURE_DEPENDS *.cpp)
  set(sources "")
  foreach(source IN LISTS found)
    weft_is_of_stage(runs_here ${source} ${WEFT_STAGE} ${room_STAGES})
    if(runs_here)
      list(APPEND sources ${source})
    endif()
  endforeach()
  if(NOT sources)
    return()
  endif()
  if(NOT room_TIMEOUT)
    set(room_TIMEOUT 150)  # above what a wait inside of a test takes to give up: what was missing is to be read
  endif()
  weft_time_limit(timeout ${room_TIMEOUT})

  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${target} PRIVATE weft-test-support ${room_LINK})
  target_precompile_headers(${target} REUSE_FROM weft-test-support)
  if(room_OPTIMIZED AND WEFT_SANITIZE MATCHES thread)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
    target_compile_options(${target} PRIVATE -O1)
  endif()
  if(room_EACH OR WEFT_LONG)
    set(properties TIMEOUT ${timeout} LABELS ${level})
    if(room_ENVIRONMENT)
      list(APPEND properties ENVIRONMENT ${room_ENVIRONMENT})
    endif()
    gtest_discover_tests(${target} TEST_PREFIX ${level}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 600
      PROPERTIES ${properties})
  else()
    weft_compile_by_letters(${target} ${sources})
    weft_add_suites(${level} ${target} ${timeout} "${room_ENVIRONMENT}")
  endif()

  if(WEFT_TESTS_GENERAL AND "general" IN_LIST room_STAGES)
    add_executable(${target}-general $<TARGET_OBJECTS:${target}>)
    set_target_properties(${target}-general PROPERTIES LINKER_LANGUAGE CXX
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    weft_link_general(${target}-general)
    target_link_libraries(${target}-general PRIVATE ${room_LINK})
    math(EXPR general_timeout "2 * ${timeout}")
    weft_add_suites(general.${level} ${target}-general ${general_timeout} "${room_ENVIRONMENT}")
  endif()
endfunction()

# Compiles several sources at once: those of a small folder, in a large one those with the same first letter. So a build
# that leaves sources out, or has one more, puts no others together.
function(weft_compile_by_letters target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  file(GLOB beside *.cpp)
  list(LENGTH beside count)
  foreach(source IN LISTS ARGN)
    set(group all)
    if(count GREATER 7)
      get_filename_component(name ${source} NAME)
      string(SUBSTRING ${name} 0 1 group)
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    weft_compile_alone(${source} ${CMAKE_CURRENT_SOURCE_DIR})
  endforeach()
endfunction()

# weft_test_script(script): tests/<folder>/<name>_test.py is the test script.<folder>.<name>_test, in stage release unless
# its first lines say otherwise. They may say, too: `# cost: 60` (it begins before others, so that it doesn't end alone),
# `# alone` (beside no other test).
function(weft_test_script script)
  get_filename_component(stem ${script} NAME_WE)
  get_filename_component(folder ${script} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  weft_is_of_stage(runs_here ${script} ${WEFT_STAGE} release)
  if(NOT runs_here)
    return()
  endif()
  weft_time_limit(timeout 1800)  # far above what any takes: 200 seeds have taken from 2 to 10 minutes on the same machine
  weft_read_comment(cost ${script} cost 0)
  weft_says(alone ${script} "alone")
  set(name script.${folder}.${stem})
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${script} --verbose)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "script;${folder}" COST ${cost} RUN_SERIAL ${alone}
    # Where tests compare all that a job writes: a machine with too much work is no standstill of its ranks, and a rank
    # that begins late is not missing.
    ENVIRONMENT "TEST_BUILD_DIR=${PROJECT_BINARY_DIR};TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR};TEST_CXX=${CMAKE_CXX_COMPILER};TEST_GENERATOR=${CMAKE_GENERATOR};WEFT_STUCK_AFTER=60;WEFT_BOOT_TIMEOUT_S=300")
endfunction()
