// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cuda/driver_api.hpp"
#include "base/sanitizers.hpp"

// ThreadSanitizer allows no work in a child of a program with threads.
#if !VYRE_THREAD_SANITIZER

namespace vyre::backend::cuda {
namespace {

// NVIDIA's driver does not work in a child of the process that started it, and its locks, and the
// one around its loading, may be held for ever.
TEST(Fork, AChildDoesNotUseTheDriverOfItsParent) {
  (void)find_driver();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    const auto driver = find_driver();
    ::_exit(!driver && driver.error().find("child") != std::string::npos ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace vyre::backend::cuda

#endif
