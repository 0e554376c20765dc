// SPDX-License-Identifier: Apache-2.0
// One test per case and device. Suites have the name of the device, so that
// --gtest_filter='cpu.*' is all of one device and --gtest_filter='*.example_*' one group on all.
#include <map>

#include <gtest/gtest.h>

#include "conformance/judge.hpp"
#include "conformance/suites.hpp"

namespace vyre::conformance {
namespace {

class CaseTest : public testing::Test {
 public:
  CaseTest(const Case& one, const Subject& subject) : case_(one), subject_(subject) {}

  void TestBody() override {
    const Judgement judgement = judge(case_, subject_);
    switch (judgement.verdict) {
      case Verdict::Pass: return;
      case Verdict::Unavailable: GTEST_SKIP() << "unavailable: " << judgement.text;
      case Verdict::Unsupported: GTEST_SKIP() << "unsupported: " << judgement.text;
      case Verdict::ExpectedFailure: GTEST_SKIP() << "expected failure: " << judgement.text;
      case Verdict::Fail: FAIL() << judgement.text << "\n" << case_.text;
    }
  }

 private:
  const Case& case_;
  const Subject& subject_;
};

// That the cases of a group can be compared at all.
class SoundTest : public testing::Test {
 public:
  explicit SoundTest(std::vector<const Case*> group) : group_(std::move(group)) {}

  void TestBody() override {
    for (const Case* one : group_) {
      const Judgement judgement = judge_case(*one);
      EXPECT_EQ(judgement.verdict, Verdict::Pass) << one->name << ": " << judgement.text << "\n"
                                                  << one->text;
    }
  }

 private:
  std::vector<const Case*> group_;
};

// A group is what has the same first word.
void register_soundness(const std::vector<Case>& cases) {
  std::map<std::string, std::vector<const Case*>> groups;
  for (const Case& one : cases) groups[one.name.substr(0, one.name.find('_'))].push_back(&one);
  for (const auto& [name, group] : groups)
    testing::RegisterTest("cases", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [group]() -> testing::Test* { return new SoundTest(group); });
}

void register_cases(const std::vector<Case>& cases, const std::vector<Subject>& devices) {
  for (const Subject& subject : devices)
    for (const Case& one : cases) {
      if (!subject.every_case && !one.every_route) continue;
      testing::RegisterTest(suite_name(subject).c_str(), one.name.c_str(), nullptr, nullptr,
                            __FILE__, __LINE__,
                            [&]() -> testing::Test* { return new CaseTest(one, subject); });
    }
}

}  // namespace

std::string suite_name(const Subject& subject) {
  return fill(subject.id, {{":", "_"}});
}

}  // namespace vyre::conformance

int main(int argc, char** argv) {
  using namespace vyre::conformance;
  testing::InitGoogleTest(&argc, argv);
  const std::vector<Case> cases = all_cases();
  const std::vector<Subject> devices = subjects();
  register_soundness(cases);
  register_cases(cases, devices);
  register_hostile(devices);
  register_random(devices);
  return RUN_ALL_TESTS();
}
