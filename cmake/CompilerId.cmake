# SPDX-License-Identifier: Apache-2.0
# The identity of the compiler: a digest of everything that decides which code a program becomes and
# how the disk cache stores it. A cache entry of another compiler is a miss.

# Folders, relative to the root of the sources: the language and its checks, the plan, the generators,
# the kernel ABI that generated code and backends share, the policies and the encoding of the cache,
# and the backends, which may turn code into a form of their own before the cache keeps it.
set(VYRE_COMPILER_FOLDERS
  include/vyre src/ir src/check src/plan src/codegen src/device src/pipeline src/backend)

# vyre_compiler_sources(<out> <root> [CONFIGURE_DEPENDS]): the files of these folders relative to the root,
# in a fixed order, without tests. What the root itself is called does not matter.
function(vyre_compiler_sources out root)
  set(patterns ${VYRE_COMPILER_FOLDERS})
  list(TRANSFORM patterns PREPEND "${root}/")
  list(TRANSFORM patterns APPEND "/*")
  file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE "${root}" ${ARGN} ${patterns})
  list(FILTER files EXCLUDE REGEX "_test\\.|/testdata/")
  list(SORT files)
  set(${out} "${files}" PARENT_SCOPE)
endfunction()

# vyre_compiler_id(<out> <root> <llvm>): 32 hex digits, from the sources under a root and a text that
# names the LLVM they are built with: its version and the flags that reach it.
function(vyre_compiler_id out root llvm)
  vyre_compiler_sources(files "${root}")
  set(parts "llvm ${llvm}\n")
  foreach(name IN LISTS files)
    file(SHA256 "${root}/${name}" digest)
    string(APPEND parts "${name} ${digest}\n")
  endforeach()
  string(SHA256 id "${parts}")
  string(SUBSTRING "${id}" 0 32 id)
  set(${out} "${id}" PARENT_SCOPE)
endfunction()
