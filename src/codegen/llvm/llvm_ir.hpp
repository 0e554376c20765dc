// SPDX-License-Identifier: Apache-2.0
// The part of LLVM that lowering needs. Passes and targets have much larger headers and stay in
// machine_code.cpp.
#pragma once

#include <array>
#include <cstdint>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
