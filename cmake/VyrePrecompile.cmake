# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: two thirds of what the compiler reads are headers of the standard library, fmt,
# GoogleTest and LLVM. None of the project's own are among them, so that a change of one compiles only what
# includes it. Sources still include what they use: the presets with clang do without precompiled headers and
# would not compile otherwise.

set(VYRE_PCH AUTO CACHE STRING "Precompile headers: ON, OFF, or AUTO (with g++)")
set(vyre_is_gnu OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(vyre_is_gnu ON)
endif()
vyre_resolve_auto(VYRE_PCH vyre_is_gnu)

set(VYRE_PCH_HEADERS
  <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <expected> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h>)
set(VYRE_PCH_HEADERS_TEST <gmock/gmock.h> <gtest/gtest.h>)
set(VYRE_PCH_HEADERS_LLVM <llvm/IR/IRBuilder.h> <llvm/IR/MDBuilder.h> <llvm/IR/Module.h>)
set(VYRE_PCH_HEADERS_JSON <nlohmann/json.hpp>)
set(VYRE_PCH_LINK_TEST GTest::gmock)
set(VYRE_PCH_LINK_JSON nlohmann_json::nlohmann_json)

# vyre_precompile(<target> [TEST] [LLVM] [JSON]): the headers that all sources share, and those of the groups named.
# Targets with equal groups and equal code model share one precompiled file. g++ 12 crashes when the
# optimisation differs: sources with an option -O of their own need SKIP_PRECOMPILE_HEADERS.
function(vyre_precompile target)
  if(NOT VYRE_PCH)
    return()
  endif()
  get_target_property(pic ${target} POSITION_INDEPENDENT_CODE)
  list(JOIN ARGN "_" groups)
  string(TOLOWER "vyre_pch_${groups}" name)
  if(pic)
    string(APPEND name "_pic")
  endif()
  if(NOT TARGET ${name})
    set(source "${VYRE_GENERATED_DIR}/pch/${name}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// Written by cmake/VyrePrecompile.cmake.\n")
    add_library(${name} OBJECT "${source}")
    target_link_libraries(${name} PRIVATE vyre_options fmt::fmt)
    set(headers ${VYRE_PCH_HEADERS})
    foreach(group IN LISTS ARGN)
      list(APPEND headers ${VYRE_PCH_HEADERS_${group}})
      target_link_libraries(${name} PRIVATE ${VYRE_PCH_LINK_${group}})
    endforeach()
    if("LLVM" IN_LIST ARGN)
      target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
    endif()
    if(pic)
      vyre_position_independent(${name})
    endif()
    target_precompile_headers(${name} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
  # For ccache, which hashes what the preprocessor writes.
  target_compile_options(${target} PRIVATE -fpch-preprocess)
endfunction()
