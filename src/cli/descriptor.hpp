// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed with its owner; stdin, stdout and stderr stay open.
#pragma once

#include <unistd.h>

namespace vyre::cli {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ > STDERR_FILENO) ::close(value_);
  }
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

}  // namespace vyre::cli
