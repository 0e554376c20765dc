# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD=... -DCONSUMER=... -DWORK=... -DCXX=... -DCC=... -DGENERATOR=... -DVERSION=...
#       -DPKG_CONFIG=... -DLIBDIR=... -DLLVM_INSIDE=ON|OFF -DNM=... -DREADELF=... -P install.cmake
# Installs a build into a prefix of its own, moves it, and builds and runs the consumer against it:
# with find_package, then with pkg-config. Nothing of the source tree may be needed.
cmake_minimum_required(VERSION 3.25)

# run(<what> COMMAND...): ends the test with the output when it fails; the output goes to `out`.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed (${status}):\n${text}")
  endif()
  set(out "${text}" PARENT_SCOPE)
endfunction()

function(expect what text wanted)
  if(NOT text STREQUAL wanted)
    message(FATAL_ERROR "${what} gave '${text}' instead of '${wanted}'")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("the installation" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/moved")
set(prefix "${WORK}/moved")

foreach(file IN ITEMS bin/vyre bin/vyre-compile include/vyre/vyre.hpp include/vyre/base/version.hpp
        include/vyre/vyre.h ${LIBDIR}/libvyre_c.so.1 ${LIBDIR}/pkgconfig/vyre-c.pc
        ${LIBDIR}/pkgconfig/vyre.pc share/doc/vyre/LICENSE
        ${LIBDIR}/cmake/vyre/vyre-config.cmake ${LIBDIR}/cmake/vyre/vyre-config-version.cmake)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
run("the installed program" "${prefix}/bin/vyre" --version)

# What large programs are compiled by is found beside the program, not in the build.
file(WRITE "${WORK}/small.vyre"
     "program p { workgroup 4; over len(b); inout b : u32[]; b[gid.x] += 1; }")
run("a program that vyre-compile compiles" "${prefix}/bin/vyre" run "${WORK}/small.vyre" --device cpu
    --untrusted --no-cache --in b=[1,2])
file(RENAME "${prefix}/bin/vyre-compile" "${prefix}/bin/away")
execute_process(COMMAND "${prefix}/bin/vyre" run "${WORK}/small.vyre" --device cpu --untrusted
                        --no-cache --in b=[1,2]
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE text)
if(NOT status EQUAL 8 OR NOT text MATCHES "vyre-compile")
  message(FATAL_ERROR "without vyre-compile the program ends with ${status}: ${text}")
endif()
file(RENAME "${prefix}/bin/away" "${prefix}/bin/vyre-compile")

# A libvyre.so with LLVM inside needs none beside it, and shows nobody its own.
if(LLVM_INSIDE)
  set(library "${prefix}/${LIBDIR}/libvyre.so")
  run("readelf" "${READELF}" -d "${library}")
  if(out MATCHES "libLLVM")
    message(FATAL_ERROR "libvyre.so needs LLVM's library: ${out}")
  endif()
  run("nm" "${NM}" -D --defined-only "${library}")
  if(out MATCHES "[^\n]*_Z[A-Z]*NK?4llvm[^\n]*")
    message(FATAL_ERROR "libvyre.so shows LLVM's functions: ${CMAKE_MATCH_0}")
  endif()
endif()

set(wanted "vyre ${VERSION}: 42")
run("the configuration of the consumer" "${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${WORK}/build"
    -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${prefix}")
run("the build of the consumer" "${CMAKE_COMMAND}" --build "${WORK}/build")
run("the consumer" "${WORK}/build/consumer")
expect("the consumer made with find_package" "${out}" "${wanted}")

set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
run("pkg-config" "${PKG_CONFIG}" --modversion vyre)
expect("pkg-config --modversion" "${out}" "${VERSION}")
run("pkg-config" "${PKG_CONFIG}" --cflags --libs vyre)
separate_arguments(flags UNIX_COMMAND "${out}")
run("the compiler" "${CXX}" -std=c++23 "${CONSUMER}/main.cpp" -o "${WORK}/consumer" ${flags})
set(ENV{LD_LIBRARY_PATH} "${prefix}/${LIBDIR}")
run("the consumer" "${WORK}/consumer")
expect("the consumer made with pkg-config" "${out}" "${wanted}")

# The C interface, with find_package and with pkg-config.
run("the configuration of the consumer in C" "${CMAKE_COMMAND}" -S "${CONSUMER}/../../../examples/c"
    -B "${WORK}/build-c" -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${CC}" "-DCMAKE_PREFIX_PATH=${prefix}")
run("the build of the examples in C" "${CMAKE_COMMAND}" --build "${WORK}/build-c")
run("an example in C" "${WORK}/build-c/example_c_hello")
expect("the example in C made with find_package" "${out}" "6 9 12 15")
run("pkg-config" "${PKG_CONFIG}" --cflags --libs vyre-c)
separate_arguments(flags UNIX_COMMAND "${out}")
run("the compiler of C" "${CC}" -std=c11 "${CONSUMER}/../../../examples/c/hello.c"
    -o "${WORK}/consumer-c" ${flags})
run("an example in C" "${WORK}/consumer-c")
expect("the example in C made with pkg-config" "${out}" "6 9 12 15")

file(REMOVE_RECURSE "${WORK}")
