# SPDX-License-Identifier: Apache-2.0
# Generated headers, under ${VYRE_GENERATED_DIR}:
#   vyre/base/version.hpp   kVersion and its parts, from project(VERSION)
#   cli/build_info.cpp      build_commit(), declared in cli/build_info.hpp
# The commit is looked up again only when HEAD moves, and then one small file is compiled.

set(VYRE_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.hpp.in"
               "${VYRE_GENERATED_DIR}/vyre/base/version.hpp" @ONLY)
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.hpp.in"
               "${VYRE_GENERATED_DIR}/cli/build_info.hpp" @ONLY)

set(head_files)
find_package(Git QUIET)
if(Git_FOUND)
  foreach(name IN ITEMS HEAD logs/HEAD)
    execute_process(
      COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path ${name}
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0)
      cmake_path(ABSOLUTE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" NORMALIZE)
      if(EXISTS "${path}")
        list(APPEND head_files "${path}")
      endif()
    endif()
  endforeach()
endif()

add_custom_command(
  OUTPUT "${VYRE_GENERATED_DIR}/cli/build_info.cpp"
  COMMAND "${CMAKE_COMMAND}" "-DGIT=${GIT_EXECUTABLE}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
          "-DOUT=${VYRE_GENERATED_DIR}/cli/build_info.cpp"
          -P "${CMAKE_CURRENT_LIST_DIR}/write_build_info.cmake"
  DEPENDS "${CMAKE_CURRENT_LIST_DIR}/write_build_info.cmake" ${head_files}
  COMMENT "Looking up the commit"
  VERBATIM)
add_custom_target(vyre_build_info DEPENDS "${VYRE_GENERATED_DIR}/cli/build_info.cpp")
