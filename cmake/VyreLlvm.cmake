# SPDX-License-Identifier: Apache-2.0
# LLVM 19, by Debian's package: the shared library, or with VYRE_LLVM_STATIC the archives, for a
# program or a libvyre.so that runs where LLVM is not installed.
option(VYRE_LLVM_STATIC "Link LLVM's archives instead of libLLVM.so" OFF)

# The version file of the package wants a minor number, too.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)

set(VYRE_LLVM_TARGET LLVM)
set(VYRE_LLVM_COMPONENTS core support passes target native nativecodegen NVPTX)
if(VYRE_LLVM_STATIC)
  llvm_map_components_to_libnames(VYRE_LLVM_TARGET ${VYRE_LLVM_COMPONENTS})
  # Much of it is never called, and with that goes the need for some libraries of its own.
  target_link_options(vyre_options INTERFACE "LINKER:--gc-sections" "LINKER:--as-needed")
endif()

# vyre_use_llvm(<target>): LLVM's headers, as those of a system library. LLVM_DEFINITIONS are left out: they
# are macros that C++ compilers needed before C++11, and precompiled headers are not used with others.
function(vyre_use_llvm target)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
endfunction()
