# SPDX-License-Identifier: Apache-2.0
# Compiler, linker and cache settings, collected in the INTERFACE target vyre_options.
# Every target of the project links it PRIVATE, so nothing here reaches users of the library.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(vyre_options INTERFACE)
target_compile_features(vyre_options INTERFACE cxx_std_23)

# Same bytes everywhere: a*b+c is never fused behind our back, and paths in the binary do not
# depend on where the clone lies (ccache makes them relative to the build folder).
file(RELATIVE_PATH source_from_build "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
string(REGEX REPLACE "/$" "" source_from_build "${source_from_build}")
target_compile_options(vyre_options INTERFACE
  -ffp-contract=off
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
  "-ffile-prefix-map=${source_from_build}/=")

target_compile_options(vyre_options INTERFACE
  -Wall -Wextra
  -Wcast-align -Wdouble-promotion -Wextra-semi -Wformat=2 -Wimplicit-fallthrough
  -Wnon-virtual-dtor -Woverloaded-virtual -Wundef -Wvla
  -Werror=return-type -Werror=switch)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these four wrongly for std::string, std::variant and std::expected when it
  # optimises (GCC PR 105329, 105562, 105651); clang and the sanitizers look for the same faults.
  target_compile_options(vyre_options INTERFACE
    -Wduplicated-cond -Wlogical-op -Wsuggest-override
    -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(vyre_options INTERFACE
    -Winconsistent-missing-override -Wunreachable-code-break -Wunused-private-field)
endif()
if(VYRE_WERROR)
  target_compile_options(vyre_options INTERFACE -Werror)
endif()

# Sanitizers and fuzzing instrument every target; only fuzz executables link the fuzzer's main.
if(VYRE_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "VYRE_FUZZ needs clang. Fix: use the preset 'fuzz'.")
endif()
if(VYRE_SANITIZE)
  target_compile_options(vyre_options INTERFACE
    -fsanitize=${VYRE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(vyre_options INTERFACE -fsanitize=${VYRE_SANITIZE})
endif()
if(VYRE_FUZZ)
  target_compile_options(vyre_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(VYRE_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "VYRE_COVERAGE needs g++. Fix: use the preset 'coverage'.")
  endif()
  # Counters of several threads and processes; branches of exceptions without a source line are left out by
  # tools/coverage.
  target_compile_options(vyre_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(vyre_options INTERFACE --coverage)
endif()
if(VYRE_SANITIZE OR VYRE_FUZZ OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(vyre_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# lld when there is one. Debian names it ld.lld-19 and g++ takes no path for a linker, so both
# compilers get a directory in which it has the name they look for.
find_program(VYRE_LLD NAMES ld.lld-19 ld.lld)
mark_as_advanced(VYRE_LLD)
if(VYRE_LLD)
  set(lld_dir "${PROJECT_BINARY_DIR}/linker")
  file(MAKE_DIRECTORY "${lld_dir}")
  file(CREATE_LINK "${VYRE_LLD}" "${lld_dir}/ld.lld" SYMBOLIC)
  target_link_options(vyre_options INTERFACE "-B${lld_dir}" -fuse-ld=lld)
endif()

# ccache when there is one. The base directory lets one clone use what another has compiled. What it calls
# sloppy is needed for precompiled headers: it does not see which macros those define.
find_program(VYRE_CCACHE NAMES ccache)
mark_as_advanced(VYRE_CCACHE)
if(VYRE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_ABSSTDERR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${VYRE_CCACHE})
endif()
