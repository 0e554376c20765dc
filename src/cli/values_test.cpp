// SPDX-License-Identifier: Apache-2.0
// Which form a value has, files, and what is written.
#include "cli/values.hpp"

#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "cli/values_helpers_test.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

constexpr std::string_view kForms =
    "give a file that ends in .npy, .bin, .csv or .png, a list such as [1,2,3], zeros(n), ones(n), "
    "fill(n,x), iota(n), random(n,lo,hi), or @- for stdin";

std::string in_quotes(const std::string& path) {
  return "`" + path + "`";
}

TEST(Values, ChoosesTheFormByTheEnding) {
  const Folder folder;
  const auto read = [&](std::string_view name, std::string_view content, Type element) {
    return read_shown(element, folder.add(name, content));
  };
  EXPECT_EQ(read("a.bin", std::string("\1\0\2\0", 4), Type::U16), "[1, 2]");
  EXPECT_EQ(read("a.BIN", std::string("\1\0\2\0", 4), Type::U16), "[1, 2]");
  EXPECT_EQ(read("a.csv", "1,2\n", Type::U16), "[1, 2]");
  EXPECT_EQ(read("x(3).csv", "7", Type::U16), "[7]") << "a known ending comes first";
  EXPECT_EQ(read("a.npy", "x", Type::U16),
            fmt::format("{} is not a .npy file that can be read: it does not start with the NumPy "
                        "mark | write it again with numpy.save",
                        in_quotes(folder.path("a.npy"))));
  EXPECT_NE(read("a.png", "x", Type::U8).find("is not a .png file"), std::string::npos);
}

TEST(Values, RefusesWhatHasNoForm) {
  EXPECT_EQ(read_shown(Type::U32, "data.txt"),
            fmt::format("`data.txt` is no value for buffer `a` | {}", kForms));
  EXPECT_EQ(read_shown(Type::U32, ""), fmt::format("`` is no value for buffer `a` | {}", kForms));
  EXPECT_EQ(read_shown(Type::U32, "5"),
            "`5` is no value for buffer `a` | write [5] for one element");
  EXPECT_EQ(read_shown(Type::F32, "-0.5"),
            "`-0.5` is no value for buffer `a` | write [-0.5] for one element");
  EXPECT_EQ(read_shown(Type::U32, "-"), "`-` is no value for buffer `a` | write @- for stdin");
  EXPECT_EQ(read_shown(Type::U32, "@x"),
            fmt::format("`@x` is no value for buffer `a` | {}", kForms));
  EXPECT_EQ(read_value({"a", Type::U32, {}}, "x", {}).error().exit_code, 11);
}

TEST(Values, RefusesFilesThatCannotBeRead) {
  const Folder folder;
  EXPECT_EQ(
      read_shown(Type::U32, "/no/such/file.bin"),
      "cannot read /no/such/file.bin: No such file or directory | name a file that exists and "
      "can be read");
  std::filesystem::create_directory(folder.path("d.csv"));
  EXPECT_NE(read_shown(Type::U32, folder.path("d.csv")).find("Is a directory"), std::string::npos);
}

TEST(Values, ReadsRawBytes) {
  const Folder folder;
  const std::string path = folder.add("a.bin", std::string("\1\0\0\0\2\0\0\0", 8));
  EXPECT_EQ(read_shown(Type::U32, path), "[1, 2]");
  EXPECT_EQ(read_shown(Type::U64, path), "[8589934593]");
  EXPECT_EQ(read_shown(Type::U32, path, 2), "[1, 2]");
  EXPECT_EQ(
      read_shown(Type::U32, path, 1),
      fmt::format("buffer `a` has 1 element, but {} has 2 | give exactly 1", in_quotes(path)));
  EXPECT_EQ(
      read_shown(Type::U32, path, 3),
      fmt::format("buffer `a` has 3 elements, but {} has 2 | give exactly 3", in_quotes(path)));
  EXPECT_EQ(read_shown(Type::U32, folder.add("empty.bin", "")), "[]");
  EXPECT_EQ(read_shown(Type::U32, folder.add("odd.bin", "12345")),
            fmt::format("{} has 5 bytes, which is no multiple of 4, the size of u32 | give whole "
                        "elements of 4 bytes each",
                        in_quotes(folder.path("odd.bin"))));
  // Bytes are not touched: any nonzero bool reads true.
  EXPECT_EQ(hex(*read_value({"a", Type::Bool, {}}, path, {})), "0100000002000000");
}

TEST(Values, ReadsNoMoreThanTheBufferTakes) {
  const Folder folder;
  const std::string link = folder.path("endless.bin");
  std::filesystem::create_symlink("/dev/zero", link);
  EXPECT_EQ(read_shown(Type::U32, link, 3),
            fmt::format("{} is longer than the 12 bytes that buffer `a` takes | give exactly that "
                        "many bytes",
                        in_quotes(link)));
  // A file of 20 GiB without content.
  const std::string sparse = folder.add("sparse.bin", "");
  ASSERT_EQ(::truncate(sparse.c_str(), off_t{20} << 30), 0);
  EXPECT_NE(read_shown(Type::U32, sparse).find("more than this tool takes"), std::string::npos);
  std::filesystem::rename(sparse, folder.path("sparse.csv"));
  EXPECT_EQ(read_shown(Type::U32, folder.path("sparse.csv")),
            fmt::format("{} is longer than 16 GiB | split the data into smaller files",
                        in_quotes(folder.path("sparse.csv"))));
}

TEST(Values, ReadsPipes) {
  const Folder folder;
  const std::string path = folder.path("pipe.bin");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string data(300000, '\7');
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << data; });
  const auto bytes = read_value({"a", Type::U8, {}}, path, {});
  writer.join();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, bytes_from(data));
}

TEST(Values, ReadsStdin) {
  EXPECT_TRUE(reads_stdin("@-"));
  EXPECT_FALSE(reads_stdin("-"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "\1\0\2\0", 4), 4);
  ::close(ends[1]);
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  ::close(ends[0]);
  EXPECT_EQ(read_shown(Type::U16, "@-"), "[1, 2]");
  EXPECT_EQ(read_shown(Type::U16, "@-", 1),
            "buffer `a` has 1 element, but stdin has 0 | give exactly 1");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

TEST(Values, SaysWhenMemoryIsShort) {
  if (base::kSanitized) GTEST_SKIP() << "sanitizers end the process when an allocation fails";
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
  const rlimit small{rlim_t{4} << 30, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);
  const auto result = read_value({"a", Type::U64, {}}, "zeros(2_000_000_000)", {});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().exit_code, 7);
  EXPECT_EQ(result.error().message, "there is not enough memory for the values of `a`");
}

std::string write_shown(Type element, std::string_view values, const std::string& path,
                        std::optional<Shape> shape = {}) {
  App app;
  const auto bytes = read_value({"a", element, {}}, values, {});
  EXPECT_TRUE(bytes);
  const auto failure = write_value(app, {"a", element, *bytes, shape}, path);
  if (failure) {
    EXPECT_EQ(failure->exit_code, 11);
  }
  return failure ? failure->message + " | " + failure->fix : "written";
}

TEST(Values, WritesEveryForm) {
  const Folder folder;
  EXPECT_EQ(write_shown(Type::U16, "[1,2]", folder.path("a.bin")), "written");
  EXPECT_EQ(folder.content("a.bin"), std::string("\1\0\2\0", 4));
  EXPECT_EQ(write_shown(Type::U16, "[1,2]", folder.path("a.csv")), "written");
  EXPECT_EQ(folder.content("a.csv"), "1\n2\n");
  EXPECT_EQ(write_shown(Type::U16, "[1,2]", folder.path("b.csv"), Shape{1, 2}), "written");
  EXPECT_EQ(folder.content("b.csv"), "1,2\n");
  EXPECT_EQ(write_shown(Type::U16, "[1,2]", folder.path("a.npy")), "written");
  EXPECT_EQ(read_shown(Type::U16, folder.path("a.npy")), "[1, 2]");
  EXPECT_EQ(write_shown(Type::U8, "[1,2]", folder.path("a.png"), Shape{2, 1}), "written");
  EXPECT_EQ(read_shown(Type::U8, folder.path("a.png")), "[1, 2]");
  EXPECT_EQ(write_shown(Type::U8, "[]", folder.path("a.bin")), "written") << "replaces it";
  EXPECT_EQ(folder.content("a.bin"), "");
}

TEST(Values, WritesToStdoutAsCsv) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(write_shown(Type::F32, "[0.5,nan,-1]", "-"), "written");
  EXPECT_EQ(write_shown(Type::F32, "[1,2,3,4]", "-", Shape{2, 2}), "written");
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "0.5\nnan\n-1\n1,2\n3,4\n");
}

TEST(Values, RefusesWhatCannotBeWritten) {
  const Folder folder;
  EXPECT_EQ(write_shown(Type::U32, "[1]", "result.txt"),
            "`result.txt` does not say in which form to write `a` | name a file that ends in .npy, "
            ".bin, .csv or .png, or - for stdout");
  EXPECT_EQ(write_shown(Type::U32, "[1,2,3]", folder.path("a.csv"), Shape{2, 2}),
            "the shape 2 x 2 of `a` has 4 elements, the buffer has 3 | give --shape a height and a "
            "width whose product is the number of elements");
  EXPECT_EQ(write_shown(Type::U32, "[1]", "-", Shape{UINT64_MAX, 2}).substr(0, 75),
            "the shape 18446744073709551615 x 2 of `a` has more than 2^64 elements, the ");
  EXPECT_EQ(write_shown(Type::U8, "[1]", folder.path("a.png")),
            "the height and the width of the picture `a` are not known | add --shape a=H,W");
  EXPECT_EQ(
      write_shown(Type::I32, "[1]", folder.path("a.png"), Shape{1, 1}),
      "`a` of i32 cannot be written as a picture | write a .npy file, or use a buffer of u8 or "
      "f32 for grey or u32 for RGBA");
  EXPECT_EQ(write_shown(Type::U8, "[1]", "/no/such/folder/a.bin"),
            "cannot write /no/such/folder/a.bin: No such file or directory | name a place that can "
            "be written");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path("")));
}

TEST(Values, ChecksAnOutputBeforeThereIsOne) {
  EXPECT_FALSE(check_output({"a", Type::U8, {}}, {}, "a.npy"));
  EXPECT_FALSE(check_output({"a", Type::U8, {}}, Shape{3, 4}, "a.png")) << "the count is not known";
  EXPECT_TRUE(check_output({"a", Type::U8, 11}, Shape{3, 4}, "a.png"));
  EXPECT_TRUE(check_output({"a", Type::U8, {}}, {}, "a.png"));
  EXPECT_TRUE(check_output({"a", Type::U8, {}}, {}, "a"));
}

TEST(Values, PreviewsArrays) {
  const auto previewed = [](Type element, std::string_view values) {
    const auto bytes = read_value({"a", element, {}}, values, {});
    return preview({"a", element, *bytes, {}});
  };
  EXPECT_EQ(previewed(Type::U32, "[]"), "[]");
  EXPECT_EQ(previewed(Type::F32, "[1,2.5,nan]"), "[1, 2.5, nan]");
  EXPECT_EQ(previewed(Type::U8, "iota(65)"), "[0, 1, 2, 3, 4, … 60, 61, 62, 63, 64]");
  const std::string whole = previewed(Type::U8, "iota(64)");
  EXPECT_EQ(whole.substr(0, 12), "[0, 1, 2, 3,");
  EXPECT_EQ(whole.find("…"), std::string::npos);
  EXPECT_EQ(whole.substr(whole.size() - 7), "62, 63]");
}

TEST(Values, ShowsOneElement) {
  const auto bytes = read_value({"a", Type::I16, {}}, "[1,-2]", {});
  EXPECT_EQ(element_text(Type::I16, *bytes, 1), "-2");
}

TEST(Values, ParsesAssignments) {
  const auto parsed = [](std::string_view option, std::string_view text) {
    const auto result = parse_assignment(option, text);
    if (result) return result->name + " <- " + result->value;
    EXPECT_EQ(result.error().exit_code, 2);
    return result.error().message + " | " + result.error().fix;
  };
  EXPECT_EQ(parsed("--in", "a=[1,2]"), "a <- [1,2]");
  EXPECT_EQ(parsed("--in", "a=b=c.npy"), "a <- b=c.npy");
  EXPECT_EQ(parsed("--in", "zeros(3)"),
            "--in `zeros(3)` has no `=` | name the buffer and then the value, as in --in "
            "a=zeros(16)");
  EXPECT_EQ(
      parsed("--out", "=x"),
      "--out `=x` has no buffer name before the `=` | name the buffer and then the value, as in "
      "--out a=result.npy");
  EXPECT_EQ(parsed("--x", "a="),
            "--x `a=` has no value after the `=` | name the buffer and then the value, as in --x "
            "name=VALUE");
}

TEST(Values, ParsesShapes) {
  const auto parsed = [](std::string_view text) {
    const auto result = parse_shape(text);
    if (result)
      return fmt::format("{}: {} x {}", result->name, result->shape.height, result->shape.width);
    EXPECT_EQ(result.error().exit_code, 2);
    return result.error().message + " | " + result.error().fix;
  };
  EXPECT_EQ(parsed("image=480,640"), "image: 480 x 640");
  EXPECT_EQ(parsed("a=1_000,0"), "a: 1000 x 0");
  EXPECT_EQ(parsed("480,640"),
            "--shape `480,640` has no `=` | write --shape name=H,W, as in --shape image=480,640");
  for (const char* text : {"a=4", "a=4,", "a=,4", "a=4x4", "a=1,2,3", "a=-1,2", "a=1.5,2",
                           "a=18446744073709551616,1"}) {
    EXPECT_EQ(parsed(text), fmt::format("--shape `{}` does not give a height and a width | write "
                                        "--shape name=H,W, as in --shape image=480,640",
                                        text));
  }
}

}  // namespace
}  // namespace vyre::cli
