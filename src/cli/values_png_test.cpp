// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "cli/values_helpers_test.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

// Pictures are put together here by hand, so that what is read was not written by the same library.
std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string chunk(std::string_view type, std::string_view data) {
  std::string body(type);
  body += data;
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(crc));
}

std::string deflated(std::string_view data) {
  uLongf size = compressBound(data.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                      reinterpret_cast<const Bytef*>(data.data()), data.size(), 9),
            Z_OK);
  out.resize(size);
  return out;
}

const std::string kMark = "\x89PNG\r\n\x1a\n";

enum Color : char { Grey = 0, Rgb = 2, Palette = 3, GreyAlpha = 4, Rgba = 6 };

struct Picture {
  uint32_t width = 1;
  uint32_t height = 1;
  int depth = 8;
  Color color = Grey;
  std::string rows;   // each with its filter byte in front
  std::string extra;  // chunks between the header and the pixels
  bool interlaced = false;

  [[nodiscard]] std::string header() const {
    return kMark + chunk("IHDR", big_endian(width) + big_endian(height) +
                                     std::string{static_cast<char>(depth), color, 0, 0,
                                                 static_cast<char>(interlaced)});
  }
  [[nodiscard]] std::string file() const {
    return header() + extra + chunk("IDAT", deflated(rows)) + chunk("IEND", "");
  }
};

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

std::string png_shown(Type element, std::string_view file, std::optional<uint64_t> count = {}) {
  return shown(element, from_png({"a", element, count}, "`d.png`", bytes_from(file)));
}

std::string pixels_hex(const Picture& picture) {
  const auto result = from_png({"a", Type::U32, {}}, "`d.png`", bytes_from(picture.file()));
  return result ? hex(*result) : result.error().message;
}

TEST(ValuesPng, ReadsGrey) {
  const Picture picture{2, 2, 8, Grey, bytes({0, 0, 51, 0, 102, 255}), "", false};
  EXPECT_EQ(png_shown(Type::U8, picture.file()), "[0, 51, 102, 255]");
  EXPECT_EQ(png_shown(Type::F32, picture.file()), "[0, 0.2, 0.4, 1]");
  EXPECT_EQ(pixels_hex(picture), "000000ff333333ff666666ffffffffff");
}

TEST(ValuesPng, ReadsOtherDepths) {
  const Picture wide{3, 1, 16, Grey, bytes({0, 0, 0, 0x80, 0x80, 0xff, 0xff}), "", false};
  EXPECT_EQ(png_shown(Type::U8, wide.file()), "[0, 128, 255]");
  EXPECT_EQ(png_shown(Type::F32, wide.file()), "[0, 0.5019608, 1]");
  const Picture rounding{2, 1, 16, Grey, bytes({0, 0, 128, 0, 129}), "", false};
  EXPECT_EQ(png_shown(Type::U8, rounding.file()), "[0, 1]");
  EXPECT_EQ(png_shown(Type::F32, rounding.file()), "[0.0019531548, 0.0019684138]");
  const Picture bits{4, 1, 1, Grey, bytes({0, 0b10100000}), "", false};
  EXPECT_EQ(png_shown(Type::U8, bits.file()), "[255, 0, 255, 0]");
  const Picture pairs{4, 1, 2, Grey, bytes({0, 0b00011011}), "", false};
  EXPECT_EQ(png_shown(Type::U8, pairs.file()), "[0, 85, 170, 255]");
}

TEST(ValuesPng, ReadsColors) {
  const Picture rgb{2, 1, 8, Rgb, bytes({0, 1, 2, 3, 200, 100, 50}), "", false};
  EXPECT_EQ(pixels_hex(rgb), "010203ffc86432ff");
  EXPECT_EQ(png_shown(Type::U32, rgb.file()), "[4278387201, 4281492680]");
  // (299 * 200 + 587 * 100 + 114 * 50 + 500) / 1000
  EXPECT_EQ(png_shown(Type::U8, rgb.file()), "[2, 124]");
  const Picture rgba{1, 1, 8, Rgba, bytes({0, 1, 2, 3, 4}), "", false};
  EXPECT_EQ(pixels_hex(rgba), "01020304");
  EXPECT_EQ(png_shown(Type::U8, rgba.file()), "[2]") << "alpha does not count";
  const Picture wide{1, 1, 16, Rgba, bytes({0, 1, 1, 2, 2, 3, 3, 255, 255}), "", false};
  EXPECT_EQ(pixels_hex(wide), "010203ff");
  const Picture alpha{1, 1, 8, GreyAlpha, bytes({0, 9, 7}), "", false};
  EXPECT_EQ(pixels_hex(alpha), "09090907");
  EXPECT_EQ(png_shown(Type::U8, alpha.file()), "[9]");
}

TEST(ValuesPng, ReadsPalettesAndTransparency) {
  const std::string palette = chunk("PLTE", bytes({1, 2, 3, 250, 251, 252}));
  const Picture plain{2, 1, 8, Palette, bytes({0, 1, 0}), palette, false};
  EXPECT_EQ(pixels_hex(plain), "fafbfcff010203ff");
  const Picture clear{2,    1, 8, Palette, bytes({0, 1, 0}), palette + chunk("tRNS", bytes({5})),
                      false};
  EXPECT_EQ(pixels_hex(clear), "fafbfcff01020305");
  const Picture outside{1, 1, 8, Palette, bytes({0, 9}), palette, false};
  EXPECT_EQ(pixels_hex(outside), "000000ff") << "libpng gives black; what matters is no crash";
  const Picture key{2, 1, 8, Grey, bytes({0, 7, 8}), chunk("tRNS", bytes({0, 7})), false};
  EXPECT_EQ(pixels_hex(key), "07070700080808ff");
}

TEST(ValuesPng, TakesSamplesAsTheyAreStored) {
  const Picture gamma{1,
                      1,
                      8,
                      Grey,
                      bytes({0, 100}),
                      chunk("gAMA", big_endian(100000)) + chunk("sBIT", bytes({4})),
                      false};
  EXPECT_EQ(png_shown(Type::U8, gamma.file()), "[100]");
}

TEST(ValuesPng, ReadsInterlacedPictures) {
  // 2 x 2: pass 1 holds the first pixel, pass 6 the one beside it, pass 7 the second row.
  const Picture picture{2, 2, 8, Grey, bytes({0, 1, 0, 2, 0, 3, 4}), "", true};
  EXPECT_EQ(png_shown(Type::U8, picture.file()), "[1, 2, 3, 4]");
}

TEST(ValuesPng, RefusesOtherTypes) {
  const Picture picture{1, 1, 8, Grey, bytes({0, 1}), "", false};
  EXPECT_EQ(
      png_shown(Type::F64, picture.file()),
      "`d.png` is a picture, and buffer `a` of f64 cannot hold one | use a buffer of u8 or f32 "
      "for grey or u32 for RGBA, or a .npy file");
  for (const Type element : {Type::Bool, Type::I32, Type::U64, Type::I64, Type::I8, Type::U16,
                             Type::I16, Type::F16, Type::BF16})
    EXPECT_FALSE(from_png({"a", element, {}}, "", bytes_from(picture.file())));
}

TEST(ValuesPng, HoldsTheCountToTheBuffer) {
  const Picture picture{2, 1, 8, Grey, bytes({0, 1, 2}), "", false};
  EXPECT_EQ(png_shown(Type::U8, picture.file(), 4),
            "buffer `a` has 4 elements, but `d.png` of 1 x 2 pixels has 2 | give exactly 4");
}

TEST(ValuesPng, RefusesDamagedFiles) {
  EXPECT_EQ(png_shown(Type::U8, "hello, I am no picture"),
            "`d.png` is not a .png file that can be read: Not a PNG file | save the picture again");
  EXPECT_EQ(png_shown(Type::U8, ""),
            "`d.png` is not a .png file that can be read: the file ends too early | save the "
            "picture again");
  const Picture picture{2, 2, 8, Grey, bytes({0, 1, 2, 0, 3, 4}), "", false};
  const std::string good = picture.file();
  ASSERT_EQ(png_shown(Type::U8, good), "[1, 2, 3, 4]");
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(from_png({"a", Type::U8, {}}, "", bytes_from(good.substr(0, size)))) << size;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    (void)from_png({"a", Type::U8, {}}, "", bytes_from(changed));
  }
  const Picture few{2, 2, 8, Grey, bytes({0, 1, 2}), "", false};
  EXPECT_FALSE(from_png({"a", Type::U8, {}}, "", bytes_from(few.file())));
}

TEST(ValuesPng, RefusesSizesBeyondTheData) {
  const Picture huge{60000, 60000, 8, Rgba, bytes({0}), "", false};
  const std::string text = png_shown(Type::U32, huge.file());
  EXPECT_EQ(text,
            fmt::format("`d.png` is not a .png file that can be read: `d.png` of 60000 x 60000 "
                        "pixels cannot be in {} bytes | save the picture again",
                        huge.file().size()));
  const Picture beyond{0x7fffffff, 0x7fffffff, 16, Rgba, bytes({0}), "", false};
  EXPECT_NE(png_shown(Type::U8, beyond.file()).find("more than this tool takes"),
            std::string::npos);
  const Picture empty{0, 5, 8, Grey, bytes({0}), "", false};
  EXPECT_FALSE(from_png({"a", Type::U8, {}}, "", bytes_from(empty.file())));
  // A text that unpacks to a lot is not unpacked at all.
  const Picture bomb{1,
                     1,
                     8,
                     Grey,
                     bytes({0, 5}),
                     chunk("zTXt", std::string("k\0\0", 3) + deflated(std::string(50 << 20, 'x'))),
                     false};
  EXPECT_EQ(png_shown(Type::U8, bomb.file()), "[5]");
}

std::string written(Type element, std::string_view values, Shape shape) {
  const auto bytes = read_value({"a", element, {}}, values, {});
  EXPECT_TRUE(bytes);
  const auto file = to_png({"a", element, *bytes, shape});
  return file ? *file : file.error().message;
}

TEST(ValuesPng, ReadsBackWhatItWrites) {
  EXPECT_EQ(png_shown(Type::U8, written(Type::U8, "[0,1,2,253,254,255]", {2, 3})),
            "[0, 1, 2, 253, 254, 255]");
  EXPECT_EQ(png_shown(Type::U32, written(Type::U32, "[0,1,0xFFFFFFFF,0x80402010]", {4, 1})),
            "[0, 1, 4294967295, 2151686160]");
  EXPECT_EQ(
      png_shown(Type::U8, written(Type::F32, "[0,1,0.5,-1,2,nan,inf,-inf,0.001,0.002]", {1, 10})),
      "[0, 255, 128, 0, 255, 0, 255, 0, 0, 1]");
  const std::string file = written(Type::U8, "zeros(6)", {2, 3});
  EXPECT_EQ(file.substr(0, 8), kMark);
  EXPECT_EQ(file.substr(16, 13), big_endian(3) + big_endian(2) + bytes({8, 0, 0, 0, 0}));
}

TEST(ValuesPng, EveryByteSurvivesTheWayThroughF32) {
  const auto bytes = read_value({"a", Type::U8, {}}, "iota(256)", {});
  const auto first = to_png({"a", Type::U8, *bytes, Shape{16, 16}});
  const auto floats = from_png({"a", Type::F32, 256}, "", bytes_from(*first));
  const auto second = to_png({"a", Type::F32, *floats, Shape{16, 16}});
  EXPECT_EQ(from_png({"a", Type::U8, 256}, "", bytes_from(*second)), *bytes);
}

TEST(ValuesPng, ChecksWhatCanBeWritten) {
  const auto checked = [](Type element, std::optional<Shape> shape) {
    const auto failure = check_png("a", element, shape);
    return failure ? failure->message + " | " + failure->fix : "";
  };
  EXPECT_EQ(checked(Type::U8, Shape{1, 1}), "");
  EXPECT_EQ(checked(Type::U8, {}),
            "the height and the width of the picture `a` are not known | add --shape a=H,W");
  EXPECT_EQ(
      checked(Type::F64, Shape{1, 1}),
      "`a` of f64 cannot be written as a picture | write a .npy file, or use a buffer of u8 or "
      "f32 for grey or u32 for RGBA");
  EXPECT_EQ(checked(Type::U8, Shape{0, 5}),
            "a picture cannot have 0 x 5 pixels | use sides from 1 to 2147483647, or write a .npy "
            "file");
  EXPECT_NE(checked(Type::U8, Shape{1, uint64_t{1} << 31}), "");
}

}  // namespace
}  // namespace vyre::cli
