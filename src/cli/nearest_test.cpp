// SPDX-License-Identifier: Apache-2.0
#include "cli/nearest.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace vyre::cli {
namespace {

const std::vector<std::string> kWords = {"check", "fmt", "print", "explain", "version"};

TEST(Nearest, FindsTypingMistakes) {
  for (const char* word : {"chekc", "chck", "cheeck", "CHECK", "ckeck"})
    EXPECT_EQ(nearest(word, kWords), "check") << word;
  EXPECT_EQ(nearest("format", kWords), "") << "more than a third differs";
  EXPECT_EQ(nearest("fm", kWords), "fmt");
  EXPECT_EQ(nearest("pritn", kWords), "print");
}

TEST(Nearest, StaysSilentWhenNothingIsClose) {
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("devices", kWords), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), kWords), "");
  EXPECT_EQ(nearest("check", {}), "");
}

TEST(Nearest, PrefersTheCloserThenTheFirst) {
  const std::vector<std::string> words = {"aaaaab", "aaaaaa", "aaaaac"};
  EXPECT_EQ(nearest("aaaaaa", words), "aaaaaa");
  EXPECT_EQ(nearest("aaaaax", words), "aaaaab");
}

}  // namespace
}  // namespace vyre::cli
