// SPDX-License-Identifier: Apache-2.0
// The program vyre-compile: reads a CompileJob from stdin and writes its answer to stdout, within
// limits that it sets for itself before it reads anything.
#pragma once

namespace vyre::pipeline {

int compile_main(int argc, char** argv);

}  // namespace vyre::pipeline
