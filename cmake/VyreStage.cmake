# SPDX-License-Identifier: Apache-2.0
# One library and one test program per folder of src/.

# vyre_stage(<folder under src>
#   [DEPENDS <stage>...]         stages this one may see
#   [LINK <target>...]           libraries from outside the project
#   [SOURCES <file>...]          generated sources
#   [TEST_DEPENDS <stage>...])   stages only its tests may see
#
# Makes vyre_<name> from *.cpp, and vyre_<name>_test from *_test.cpp when there are any; ctest
# sees every test case. main.cpp is left to the caller. A folder without sources gives an
# INTERFACE library, so that others can already depend on it.
function(vyre_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS;LINK;SOURCES;TEST_DEPENDS")
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
    if(NOT name STREQUAL "cli")
      vyre_in_library(${target} ${arg_LINK})
    endif()
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
                      SOURCES ${tests} LINK ${target} ${arg_TEST_DEPENDS})
  endif()
endfunction()

# vyre_in_library(<target> [<library from outside>...]): the objects of this static library become a
# part of libvyre (cmake/VyreLibrary.cmake), which may be a shared library or be linked into one.
# Calls inside it need not be replaceable from outside, which would keep g++ from inlining them.
function(vyre_in_library target)
  set_property(TARGET ${target} PROPERTY POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  set_property(GLOBAL APPEND PROPERTY VYRE_LIBRARY_STAGES ${target})
  set_property(GLOBAL APPEND PROPERTY VYRE_LIBRARY_WANTED ${ARGN})
endfunction()

# vyre_test_program(<target> PREFIX <p> LABEL <l> SOURCES <file>... LINK <target>...)
# A GoogleTest program; its cases appear in ctest as <p>Suite.Case. VYRE_SOURCE_DIR is defined.
function(vyre_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PREFIX;LABEL" "SOURCES;LINK")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} vyre_options GTest::gtest_main GTest::gmock)
  target_compile_definitions(${target} PRIVATE "VYRE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  gtest_discover_tests(${target}
    TEST_PREFIX "${arg_PREFIX}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DISCOVERY_TIMEOUT 60
    DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL})
endfunction()
