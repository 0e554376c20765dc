// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/values_helpers_test.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

// A file of version 1.0, 2.0 or 3.0 around any header.
std::string npy(std::string_view header, std::string_view data, int major = 1, int minor = 0) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += static_cast<char>(minor);
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i));
  file += header;
  file += data;
  return file;
}

std::string dictionary(std::string_view descr, std::string_view shape, bool fortran = false) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr,
                     fortran ? "True" : "False", shape);
}

std::string npy_shown(Type element, std::string_view file, std::optional<uint64_t> count = {}) {
  return shown(element, from_npy({"a", element, count}, "`d.npy`", bytes_from(file)));
}

// "message" of a file that is damaged.
std::string damage(std::string_view file) {
  constexpr std::string_view kStart = "`d.npy` is not a .npy file that can be read: ";
  constexpr std::string_view kEnd = " | write it again with numpy.save";
  const std::string text = npy_shown(Type::U8, file);
  if (!text.starts_with(kStart) || !text.ends_with(kEnd)) return "not damaged: " + text;
  return text.substr(kStart.size(), text.size() - kStart.size() - kEnd.size());
}

const std::string kTwoFloats = {'\0', '\0', '\x80', '\x3f', '\0', '\0', '\0', '\xc0'};

TEST(ValuesNpy, ReadsEveryVersion) {
  for (int major = 1; major <= 3; ++major)
    EXPECT_EQ(npy_shown(Type::F32, npy(dictionary("'<f4'", "(2,)"), kTwoFloats, major)), "[1, -2]");
}

TEST(ValuesNpy, ReadsEveryShapeFlattened) {
  for (const char* shape : {"(2,)", "(2, 1)", "(1, 2)", "(1,2,)", "( 2 , 1 , 1 )", "(1,1,1,1,2)"})
    EXPECT_EQ(npy_shown(Type::F32, npy(dictionary("'<f4'", shape), kTwoFloats)), "[1, -2]")
        << shape;
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|u1'", "()"), "\x07")), "[7]");
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|u1'", "(0,)"), "")), "[]");
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|u1'", "(18446744073709551615, 9, 0)"), "")),
            "[]");
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|u1'", "(2, 2)"), "\1\2\3\4")), "[1, 2, 3, 4]");
}

TEST(ValuesNpy, ReadsHeadersOfAnyLayout) {
  for (const char* header :
       {"{'shape':(2,),'fortran_order':False,'descr':'<f4'}",
        "{ \"descr\" : \"<f4\" , \"fortran_order\" : False , \"shape\" : (2,) , }   \n",
        "\n{\n'fortran_order': True,\n\t'shape': (2,),\r\n'descr': '<f4'}"})
    EXPECT_EQ(npy_shown(Type::F32, npy(header, kTwoFloats)), "[1, -2]") << header;
}

TEST(ValuesNpy, ReadsEveryType) {
  struct Case {
    Type element;
    std::string descr;
    std::string data;
    std::string want;
  };
  const std::string ff(8, '\xff');
  for (const Case& c :
       {Case{Type::Bool, "'|b1'", std::string("\1\0\2", 3), "[true, false, true]"},
        Case{Type::U8, "'|u1'", "\xff", "[255]"}, Case{Type::I8, "'|i1'", "\xff", "[-1]"},
        Case{Type::I8, "'<i1'", "\xff", "[-1]"}, Case{Type::I8, "'>i1'", "\xff", "[-1]"},
        Case{Type::U16, "'<u2'", std::string("\1\2"), "[513]"},
        Case{Type::I16, "'<i2'", ff.substr(0, 2), "[-1]"},
        Case{Type::U32, "'<u4'", ff.substr(0, 4), "[4294967295]"},
        Case{Type::I32, "'<i4'", ff.substr(0, 4), "[-1]"},
        Case{Type::U64, "'<u8'", ff, "[18446744073709551615]"},
        Case{Type::I64, "'<i8'", ff, "[-1]"},
        Case{Type::F16, "'<f2'", std::string("\0\x3c", 2), "[1]"},
        Case{Type::BF16, "'<u2'", std::string("\x80\x3f", 2), "[1]"},
        Case{Type::F64, "'<f8'", std::string("\0\0\0\0\0\0\xf0\x3f", 8), "[1]"}}) {
    const size_t size = c.element == Type::Bool ? 1 : ir::bytes_of(c.element);
    const std::string shape = fmt::format("({},)", c.data.size() / size);
    EXPECT_EQ(npy_shown(c.element, npy(dictionary(c.descr, shape), c.data)), c.want) << c.descr;
  }
  const auto bools =
      from_npy({"a", Type::Bool, {}}, "", bytes_from(npy(dictionary("'|b1'", "(2,)"), "\1\2")));
  EXPECT_EQ(hex(*bools), "0100000001000000");
}

TEST(ValuesNpy, RefusesOtherTypesNamingBoth) {
  EXPECT_EQ(npy_shown(Type::F32, npy(dictionary("'<f8'", "(1,)"), "12345678")),
            "`d.npy` holds float64, buffer `a` needs f32 | save it as array.astype('float32')");
  EXPECT_EQ(npy_shown(Type::U32, npy(dictionary("'<i4'", "(1,)"), "1234")),
            "`d.npy` holds int32, buffer `a` needs u32 | save it as array.astype('uint32')");
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|b1'", "(1,)"), "1")),
            "`d.npy` holds bool, buffer `a` needs u8 | save it as array.astype('uint8')");
  EXPECT_EQ(npy_shown(Type::BF16, npy(dictionary("'<f2'", "(1,)"), "12")),
            "`d.npy` holds float16, buffer `a` needs bf16 | save the bits of the bf16 values, as "
            "array.view('uint16')");
  EXPECT_EQ(npy_shown(Type::F32, npy(dictionary("'>f4'", "(1,)"), "1234")),
            "`d.npy` holds big-endian float32, and buffer `a` needs little-endian | save it as "
            "array.astype('<f4')");
  EXPECT_EQ(npy_shown(Type::F32, npy(dictionary("'<c16'", "(1,)"), "1234")),
            "`d.npy` holds elements of NumPy type `<c16`, buffer `a` needs f32 | save it as "
            "array.astype('float32')");
  EXPECT_EQ(
      npy_shown(Type::F32, npy(dictionary("[('x', '<f4'), ('y]', '<f4', (2,))]", "(1,)"), "")),
      "`d.npy` holds records, buffer `a` needs f32 | save it as array.astype('float32')");
  for (const char* descr : {"''", "'<'", "'f4'", "'|O'", "'|f4'", "'=f4'"})
    EXPECT_NE(npy_shown(Type::F32, npy(dictionary(descr, "(1,)"), "1234")).find(" needs f32 | "),
              std::string::npos)
        << descr;
}

TEST(ValuesNpy, RefusesFortranOrderOnlyWhereItDiffers) {
  EXPECT_EQ(
      npy_shown(Type::U8, npy(dictionary("'|u1'", "(2, 2)", true), "1234")),
      "`d.npy` is in Fortran order (columns first), and buffers are in C order (rows first) | "
      "save it as numpy.ascontiguousarray(array)");
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|u1'", "(2, 1)", true), "\1\2")), "[1, 2]");
}

TEST(ValuesNpy, RefusesDamagedFiles) {
  const std::string good = npy(dictionary("'|u1'", "(3,)"), "\1\2\3");
  ASSERT_EQ(npy_shown(Type::U8, good), "[1, 2, 3]");
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(from_npy({"a", Type::U8, {}}, "", bytes_from(good.substr(0, size)))) << size;

  EXPECT_EQ(damage("hello"), "it does not start with the NumPy mark");
  EXPECT_EQ(damage("\x93NUMPY"), "it ends in its header");
  EXPECT_EQ(damage(npy("{}", "", 4)), "its version is 4.0, not 1.0 to 3.0");
  EXPECT_EQ(damage(npy("{}", "", 1, 1)), "its version is 1.1, not 1.0 to 3.0");
  EXPECT_EQ(damage(npy("{}", "", 0)), "its version is 0.0, not 1.0 to 3.0");
  EXPECT_EQ(damage(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14)), "it ends in its header");
  EXPECT_EQ(damage(good + "x"), "its header promises 3 elements of uint8, and 4 bytes follow");
  EXPECT_EQ(damage(good.substr(0, good.size() - 1)),
            "its header promises 3 elements of uint8, and 2 bytes follow");
  EXPECT_EQ(damage(npy(dictionary("'|u1'", "(18446744073709551615,)"), "")),
            "its header promises 18446744073709551615 elements of uint8, and 0 bytes follow");
  EXPECT_EQ(damage(npy(dictionary("'|u1'", "(4294967296, 4294967296)"), "")),
            "its header promises more than 2^64 elements of uint8, and 0 bytes follow");
  EXPECT_EQ(npy_shown(Type::F64, npy(dictionary("'<f8'", "(2305843009213693953,)"), "12345678"))
                .substr(0, 97),
            "`d.npy` is not a .npy file that can be read: its header promises 2305843009213693953 "
            "elements of ");
}

TEST(ValuesNpy, RefusesMalformedHeaders) {
  struct Case {
    std::string header;
    std::string want;
  };
  // $d, $f and $s stand for the three entries.
  const auto entries = [](std::string header) {
    for (const auto& [mark, entry] :
         {std::pair("$d", "'descr': '|u1'"), std::pair("$f", "'fortran_order': False"),
          std::pair("$s", "'shape': (1,)")})
      for (size_t at = 0; (at = header.find(mark)) != std::string::npos;)
        header.replace(at, 2, entry);
    return header;
  };
  for (const Case& c : {
           Case{"", "it does not start with `{`"},
           Case{"[]", "it does not start with `{`"},
           Case{"{", "a key is malformed"},
           Case{"{}", "it lacks one of the keys descr, fortran_order and shape"},
           Case{"{$d,$f}", "it lacks one of the keys descr, fortran_order and shape"},
           Case{"{$d,$f,$s", "a comma is missing"},
           Case{"{$d $f,$s}", "a comma is missing"},
           Case{"{$d,$f,$s} x", "something follows after `}`"},
           Case{std::string("{$d,$f,$s}\0", 11), "something follows after `}`"},
           Case{"{$d,$d,$s}", "it has the key `descr` twice"},
           Case{"{$d,$f,$s,'x': 1}", "it has the unknown key `x`"},
           Case{"{descr: 1}", "a key is malformed"},
           Case{"{'descr' '<f4'}", "a key is malformed"},
           Case{"{'de\\'scr': 1}", "a key is malformed"},
           Case{"{'descr': '<f4}", "the value of `descr` is malformed"},
           Case{"{'descr': 4}", "the value of `descr` is malformed"},
           Case{"{'descr': [[[", "the value of `descr` is malformed"},
           Case{"{'descr': ['", "the value of `descr` is malformed"},
           Case{"{'fortran_order': 0}", "the value of `fortran_order` is malformed"},
           Case{"{'shape': (1)}", "the value of `shape` is malformed"},
           Case{"{'shape': [1,]}", "the value of `shape` is malformed"},
           Case{"{'shape': (-1,)}", "the value of `shape` is malformed"},
           Case{"{'shape': (,)}", "the value of `shape` is malformed"},
           Case{"{'shape': (1,,2)}", "the value of `shape` is malformed"},
           Case{"{'shape': (1 2)}", "the value of `shape` is malformed"},
           Case{"{'shape': (1,", "the value of `shape` is malformed"},
           Case{"{'shape': (18446744073709551616,)}", "the value of `shape` is malformed"},
       })
    EXPECT_EQ(damage(npy(entries(c.header), "\1")), "in its header, " + c.want) << c.header;
}

TEST(ValuesNpy, HoldsTheCountToTheBuffer) {
  EXPECT_EQ(npy_shown(Type::U8, npy(dictionary("'|u1'", "(3,)"), "123"), 4),
            "buffer `a` has 4 elements, but `d.npy` has 3 | give exactly 4");
}

// Derived by hand from the format's definition: 6 bytes of mark, version 1.0, the length of the
// header, and a header that ends in a line feed at byte 128.
TEST(ValuesNpy, WritesTheFormat) {
  const auto bytes = bytes_from(std::string("\1\0\2\0\3\0\4\0", 8));
  std::string want = "\x93NUMPY";
  want += std::string("\x01\x00\x76\x00", 4);
  want += "{'descr': '<u2', 'fortran_order': False, 'shape': (4,), }";
  want += std::string(127 - want.size(), ' ') + "\n";
  ASSERT_EQ(want.size(), 128U);
  want += std::string("\1\0\2\0\3\0\4\0", 8);
  EXPECT_EQ(to_npy({"a", Type::U16, bytes, {}}), want);
  EXPECT_EQ(to_npy({"a", Type::BF16, bytes, {}}), want);

  const std::string square = to_npy({"a", Type::I16, bytes, Shape{2, 2}});
  EXPECT_NE(square.find("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }"),
            std::string::npos);
  const std::string bools = to_npy({"a", Type::Bool, bytes, {}});
  EXPECT_NE(bools.find("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }"),
            std::string::npos);
  EXPECT_EQ(bools.substr(128), "\1\1");
}

TEST(ValuesNpy, ReadsBackWhatItWrites) {
  for (int t = 0; t < ir::kTypeCount; ++t) {
    const auto element = static_cast<Type>(t);
    for (const uint64_t count : {0, 1, 7, 1000}) {
      const auto bytes = read_value({"a", element, {}}, fmt::format("random({},0,2)", count), {});
      ASSERT_TRUE(bytes);
      for (const auto& shape : {std::optional<Shape>(), std::optional<Shape>(Shape{count, 1}),
                                std::optional<Shape>(Shape{1, count})}) {
        const std::string file = to_npy({"a", element, *bytes, shape});
        EXPECT_EQ((file.size() - bytes->size() / (element == Type::Bool ? 4 : 1)) % 64, 0U);
        EXPECT_EQ(from_npy({"a", element, count}, "", bytes_from(file)), *bytes);
      }
    }
  }
}

}  // namespace
}  // namespace vyre::cli
