// SPDX-License-Identifier: Apache-2.0
#include "ir/maths.hpp"

#include <string>

#include <gtest/gtest.h>

#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace vyre::ir {
namespace {

TEST(MathsLibrary, IsAValidProgram) {
  const check::Checked checked = check::check(maths_library().program);
  for (const Diagnostic& d : checked.diagnostics.list())
    if (d.severity == Severity::Error)
      ADD_FAILURE() << d.at.file << ":" << d.at.line << ": " << d.message;
  ASSERT_TRUE(checked.program);
}

TEST(MathsLibrary, SurvivesPrinting) {
  const std::string printed = text::print(maths_library().program);
  const text::Parsed parsed = text::parse(printed, "maths.vyre");
  EXPECT_TRUE(parsed.program == maths_library().program);
}

}  // namespace
}  // namespace vyre::ir
