// SPDX-License-Identifier: Apache-2.0
#include "pipeline/compile_main.hpp"

int main(int argc, char** argv) {
  return vyre::pipeline::compile_main(argc, argv);
}
