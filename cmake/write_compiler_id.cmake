# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -DVERSION=... -DLLVM=... -DOUT=... -P write_compiler_id.cmake
# Writes compiler_source_id(), which is <version>-<identity of the compiler>. Without OUT it prints
# the id, so that a test can compare those of several trees.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/CompilerId.cmake")
vyre_compiler_id(id "${SOURCE_DIR}" "${LLVM}")
if(NOT DEFINED OUT)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${VERSION}-${id}")
  return()
endif()
set(text "// Generated.
#include \"pipeline/generate.hpp\"

namespace vyre::pipeline {

std::string_view compiler_source_id() { return \"${VERSION}-${id}\"; }

}  // namespace vyre::pipeline
")
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUT}" "${text}")
endif()
