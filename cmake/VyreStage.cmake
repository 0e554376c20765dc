# SPDX-License-Identifier: Apache-2.0
# One library and one test program per folder of src/.

# vyre_stage(<folder under src>
#   [DEPENDS <stage>...]         stages this one may see
#   [LINK <target>...]           libraries from outside the project
#   [SOURCES <file>...]          generated sources
#   [TEST_DEPENDS <stage>...]    stages only its tests may see
#   [PRECOMPILE <group>...])     groups of precompiled headers, see vyre_precompile()
#
# Makes vyre_<name> from *.cpp, and vyre_<name>_test from *_test.cpp when there are any; ctest
# sees every test case. main.cpp is left to the caller. A folder without sources gives an
# INTERFACE library, so that others can already depend on it.
function(vyre_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;LINK;SOURCES;TEST_DEPENDS;PRECOMPILE")
  string(REPLACE "/" "_" id "${name}")
  set(target vyre_${id})
  set(folder "${PROJECT_SOURCE_DIR}/src/${name}")

  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")

  list(TRANSFORM arg_DEPENDS PREPEND vyre_)
  list(TRANSFORM arg_DEPENDS REPLACE "/" "_")
  set(include_dirs "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                   "${VYRE_GENERATED_DIR}")
  if(sources OR arg_SOURCES)
    add_library(${target} STATIC ${sources} ${arg_SOURCES})
    target_include_directories(${target} PUBLIC ${include_dirs})
    target_compile_features(${target} PUBLIC cxx_std_23)
    target_link_libraries(${target} PUBLIC ${arg_DEPENDS} ${arg_LINK}
                                    PRIVATE $<BUILD_INTERFACE:vyre_options>)
    if(NOT name MATCHES "^(cli|lsp)$")  # parts of the tool
      vyre_in_library(${target} ${arg_LINK})
    endif()
    vyre_precompile(${target} ${arg_PRECOMPILE})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${include_dirs})
    target_compile_features(${target} INTERFACE cxx_std_23)
    target_link_libraries(${target} INTERFACE ${arg_DEPENDS} ${arg_LINK})
  endif()

  if(VYRE_TESTS AND tests)
    list(TRANSFORM arg_TEST_DEPENDS PREPEND vyre_)
    list(TRANSFORM arg_TEST_DEPENDS REPLACE "/" "_")
    vyre_test_program(${target}_test PREFIX "${id}." LABEL unit
                      SOURCES ${tests} LINK ${target} ${arg_TEST_DEPENDS}
                      PRECOMPILE ${arg_PRECOMPILE})
  endif()
endfunction()

# vyre_position_independent(<target>): code for a shared library. Calls inside it need not be replaceable
# from outside, which would keep g++ from inlining them.
function(vyre_position_independent target)
  set_property(TARGET ${target} PROPERTY POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
endfunction()

# vyre_in_library(<target> [<library from outside>...]): the objects of this static library become a
# part of libvyre (cmake/VyreLibrary.cmake), which may be a shared library or be linked into one.
function(vyre_in_library target)
  vyre_position_independent(${target})
  set_property(GLOBAL APPEND PROPERTY VYRE_LIBRARY_STAGES ${target})
  set_property(GLOBAL APPEND PROPERTY VYRE_LIBRARY_WANTED ${ARGN})
endfunction()

# vyre_test_program(<target> PREFIX <p> LABEL <l> SOURCES <file>... LINK <target>... [SHARDS <n>]
#                   [PRECOMPILE <group>...])
# A GoogleTest program; its cases appear in ctest as <p>Suite.Case. VYRE_SOURCE_DIR is defined. With
# SHARDS, they appear as <p>1 to <p><n> instead, see vyre_test_shards(); with 0 not at all yet.
function(vyre_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;LABEL;SHARDS" "SOURCES;LINK;PRECOMPILE")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} vyre_options GTest::gtest_main GTest::gmock)
  target_compile_definitions(${target} PRIVATE "VYRE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  vyre_precompile(${target} TEST ${arg_PRECOMPILE})
  if(DEFINED arg_SHARDS)
    if(arg_SHARDS GREATER 0)
      vyre_test_shards(${target} PREFIX "${arg_PREFIX}" FILTER "*" SHARDS ${arg_SHARDS}
                       LABEL ${arg_LABEL})
    endif()
    return()
  endif()
  gtest_discover_tests(${target}
    TEST_PREFIX "${arg_PREFIX}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_TIMEOUT 60
    DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL})
endfunction()

# vyre_test_shards(<target> PREFIX <p> FILTER <gtest filter> SHARDS <n> LABEL <l>)
# The cases that the filter chooses as ctest entries <p>1 to <p><n>, a process each: for programs with
# thousands of cases, whose start takes longer than a case. What became of each case is left in
# Testing/cases/<entry>.xml, where tools/count_tests finds it.
function(vyre_test_shards target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;FILTER;SHARDS;LABEL" "")
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(entry "${arg_PREFIX}${shard}")
    math(EXPR index "${shard} - 1")
    add_test(NAME ${entry} COMMAND ${target} "--gtest_filter=${arg_FILTER}"
             WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    # First of all, so that none of them is left over for one core at the end.
    set_tests_properties(${entry} PROPERTIES LABELS ${arg_LABEL} COST 1000 TIMEOUT 1800
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index};\
GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/Testing/cases/${entry}.xml")
  endforeach()
endfunction()
