# SPDX-License-Identifier: Apache-2.0
# cmake -DGIT=... -DSOURCE_DIR=... -DOUT=... -P write_build_info.cmake
cmake_minimum_required(VERSION 3.25)
set(commit "")
if(GIT)
  execute_process(
    COMMAND "${GIT}" describe --tags --always
    WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[A-Za-z0-9._/-]+$")
  set(commit "unknown")
endif()
file(WRITE "${OUT}"
"// Generated.
#include \"cli/build_info.hpp\"

namespace vyre {

std::string_view build_commit() { return \"${commit}\"; }

}  // namespace vyre
")
