# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -DVERSION=... -DOUT=... -P write_compiler_id.cmake
# The id of a compiler is a digest of the sources that decide about code, so that a cache entry of
# another version is never taken for one of this.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files LIST_DIRECTORIES false
  "${SOURCE_DIR}/src/ir/*" "${SOURCE_DIR}/src/check/*" "${SOURCE_DIR}/src/plan/*"
  "${SOURCE_DIR}/src/codegen/*" "${SOURCE_DIR}/include/vyre/*")
list(FILTER files EXCLUDE REGEX "_test\\.")
list(SORT files)
set(digests "")
foreach(file IN LISTS files)
  file(SHA256 "${file}" digest)
  file(RELATIVE_PATH name "${SOURCE_DIR}" "${file}")
  string(APPEND digests "${name} ${digest}\n")
endforeach()
string(SHA256 id "${digests}")
string(SUBSTRING "${id}" 0 32 id)
set(text "// Generated.
#include \"vyre/pipeline/compiler.hpp\"

namespace vyre::pipeline {

std::string_view compiler_build_id() { return \"${VERSION}-${id}\"; }

}  // namespace vyre::pipeline
")
set(old "")
if(EXISTS "${OUT}")
  file(READ "${OUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUT}" "${text}")
endif()
