// SPDX-License-Identifier: Apache-2.0
// Pictures, through libpng. Samples are taken as they are stored: gamma and colour profiles are not
// applied, so that the same file gives the same bytes with every version of the library.
//
// libpng reports errors by longjmp. It may only cross frames without destructors: everything that
// owns memory lives in Reader and Writer, outside of the functions that call setjmp.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <png.h>

#include "cli/values_forms.hpp"
#include "cli/values_number.hpp"

namespace vyre::cli {
namespace {

constexpr uint64_t kLongestSide = 0x7fffffff;  // of the format

struct Problem {
  std::array<char, 128> text{};
  bool no_memory = false;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* problem = static_cast<Problem*>(png_get_error_ptr(png));
  std::strncpy(problem->text.data(), message, problem->text.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp /*png*/, png_const_charp /*message*/) {
  // What libpng can go on with does not change the samples.
}

// Distinguishes a lack of memory from a file that is no good: libpng reports both the same way.
void* on_allocate(png_structp png, png_alloc_size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) static_cast<Problem*>(png_get_mem_ptr(png))->no_memory = true;
  return memory;
}

void on_free(png_structp /*png*/, void* memory) {
  std::free(memory);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> file) : file_(file) {
    png_ = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &problem_, on_error, on_warning,
                                    &problem_, on_allocate, on_free);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  [[nodiscard]] bool made() const { return info_ != nullptr; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] uint32_t width() const { return width_; }
  [[nodiscard]] uint32_t height() const { return height_; }
  // After start(): of a pixel in the file. After prepare(): of a row in memory.
  [[nodiscard]] uint32_t pixel_bits() const { return pixel_bits_; }
  [[nodiscard]] uint64_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] uint32_t channels() const { return channels_; }
  [[nodiscard]] bool wide() const { return wide_; }  // 16 bits a sample, big-endian

  // Everything in front of the pixels.
  bool start() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    // Only tRNS, of all that is optional, says something about samples.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_user_limits(png_, kLongestSide, kLongestSide);
    png_set_read_fn(png_, this, on_read);
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    pixel_bits_ = uint32_t{png_get_bit_depth(png_, info_)} * png_get_channels(png_, info_);
    return true;
  }

  // Chooses how rows come out: 8 or 16 bits a sample; grey, grey and alpha, RGB or RGBA.
  bool prepare() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes_ = png_get_rowbytes(png_, info_);
    channels_ = png_get_channels(png_, info_);
    wide_ = png_get_bit_depth(png_, info_) == 16;
    return true;
  }

  // `pixels` has room for all rows. An interlaced picture comes in several passes over them.
  bool read_rows(png_bytep pixels) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass)
      for (uint64_t y = 0; y < height_; ++y) png_read_row(png_, pixels + y * row_bytes_, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  static void on_read(png_structp png, png_bytep out, size_t size) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
    if (size > reader->file_.size()) png_error(png, "the file ends too early");
    std::memcpy(out, reader->file_.data(), size);
    reader->file_ = reader->file_.subspan(size);
  }

  std::span<const std::byte> file_;  // what has not been read
  Problem problem_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  uint32_t width_ = 0;
  uint32_t height_ = 0;
  uint32_t pixel_bits_ = 0;
  int passes_ = 1;
  uint64_t row_bytes_ = 0;
  uint32_t channels_ = 0;
  bool wide_ = false;
};

class Writer {
 public:
  Writer() {
    png_ = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &problem_, on_error, on_warning,
                                     &problem_, on_allocate, on_free);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png_, &info_); }

  [[nodiscard]] bool made() const { return info_ != nullptr; }
  [[nodiscard]] const Problem& problem() const { return problem_; }
  std::string take_file() { return std::move(file_); }

  bool write(uint32_t width, uint32_t height, int color, const std::byte* pixels,
             size_t row_bytes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_user_limits(png_, kLongestSide, kLongestSide);
    png_set_write_fn(png_, this, on_write, nullptr);
    png_set_IHDR(png_, info_, width, height, 8, color, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (uint32_t y = 0; y < height; ++y)
      png_write_row(png_, reinterpret_cast<png_const_bytep>(pixels + y * row_bytes));
    png_write_end(png_, nullptr);
    return true;
  }

 private:
  static void on_write(png_structp png, png_bytep data, size_t size) {
    auto* writer = static_cast<Writer*>(png_get_io_ptr(png));
    // An exception must not pass through the frames of a C library.
    try {
      writer->file_.append(reinterpret_cast<const char*>(data), size);
    } catch (const std::bad_alloc&) {
      writer->problem_.no_memory = true;
    }
    if (writer->problem_.no_memory) png_error(png, "out of memory");
  }

  std::string file_;
  Problem problem_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

bool has_pictures(ir::Type element) {
  return element == ir::Type::U8 || element == ir::Type::F32 || element == ir::Type::U32;
}

std::unexpected<Failure> damaged(const std::string& path, std::string_view why) {
  return bad_value(fmt::format("{} is not a .png file that can be read: {}", path, why),
                   "save the picture again");
}

std::unexpected<Failure> damaged(const std::string& path, const Problem& problem) {
  if (problem.no_memory) throw std::bad_alloc();  // for read_value()
  return damaged(path, problem.text.data());
}

// One row of the file as elements.
class Converter {
 public:
  Converter(ir::Type element, const Reader& reader)
      : element_(element),
        channels_(reader.channels()),
        sample_bytes_(reader.wide() ? 2 : 1),
        largest_(reader.wide() ? 65535 : 255) {}

  void row(const png_byte* in, uint32_t width, std::span<std::byte> out, uint64_t first) const {
    for (uint32_t x = 0; x < width; ++x) {
      std::array<uint32_t, 4> s{};
      for (uint32_t c = 0; c < channels_; ++c, in += sample_bytes_)
        s[c] = sample_bytes_ == 1 ? in[0] : (uint32_t{in[0]} << 8 | in[1]);
      store_element(element_, out, first + x, element(s));
    }
  }

 private:
  // v * 255 / 65535 rounded, for samples of 16 bits.
  [[nodiscard]] uint32_t byte(uint32_t v) const { return largest_ == 255 ? v : (v + 128) / 257; }

  [[nodiscard]] uint64_t element(const std::array<uint32_t, 4>& s) const {
    const bool color = channels_ >= 3;
    const bool alpha = channels_ % 2 == 0;
    if (element_ == ir::Type::U32) {
      const uint32_t opaque = alpha ? byte(s[channels_ - 1]) : 255;
      return byte(s[0]) | byte(s[color ? 1 : 0]) << 8 | byte(s[color ? 2 : 0]) << 16 | opaque << 24;
    }
    // The weights of ITU-R BT.601, in thousandths.
    const uint32_t grey = color ? (299 * s[0] + 587 * s[1] + 114 * s[2] + 500) / 1000 : s[0];
    if (element_ == ir::Type::U8) return byte(grey);
    return std::bit_cast<uint32_t>(static_cast<float>(grey) / static_cast<float>(largest_));
  }

  ir::Type element_;
  uint32_t channels_;
  uint32_t sample_bytes_;
  uint32_t largest_;
};

ValueResult decode(const ValueSpec& spec, const std::string& path, Reader& reader) {
  if (!reader.prepare()) return damaged(path, reader.problem());
  const uint64_t height = reader.height();
  std::vector<png_byte> pixels(height * reader.row_bytes());
  if (!reader.read_rows(pixels.data())) return damaged(path, reader.problem());

  ValueBytes bytes(height * reader.width() * ir::bytes_of(spec.element));
  const Converter converter(spec.element, reader);
  for (uint64_t y = 0; y < height; ++y)
    converter.row(pixels.data() + y * reader.row_bytes(), reader.width(), bytes,
                  y * reader.width());
  return bytes;
}

}  // namespace

ValueResult from_png(const ValueSpec& spec, const std::string& path,
                     std::span<const std::byte> file) {
  if (!has_pictures(spec.element)) {
    return bad_value(fmt::format("{} is a picture, and buffer `{}` of {} cannot hold one", path,
                                 spec.name, ir::name_of(spec.element)),
                     "use a buffer of u8 or f32 for grey or u32 for RGBA, or a .npy file");
  }
  Reader reader(file);
  if (!reader.made()) throw std::bad_alloc();
  if (!reader.start()) return damaged(path, reader.problem());
  const uint64_t count = uint64_t{reader.width()} * reader.height();
  const std::string what =
      fmt::format("{} of {} x {} pixels", path, reader.height(), reader.width());
  if (auto failure = check_count(spec, count, what)) return std::unexpected(std::move(*failure));
  // Deflate packs at most 1032 bytes into one, so that a small file with a large promise is found
  // out before anything is allocated. Each row has a byte for its filter. The count is at most 2^32
  // here.
  constexpr uint64_t kMostPacked = 1032;
  const uint64_t unpacked = reader.height() + count * reader.pixel_bits() / 8;
  if (unpacked > file.size() * kMostPacked)
    return damaged(path, fmt::format("{} cannot be in {} bytes", what, file.size()));
  return decode(spec, path, reader);
}

std::optional<Failure> check_png(std::string_view name, ir::Type element,
                                 const std::optional<Shape>& shape) {
  if (!has_pictures(element)) {
    return bad_value(
               fmt::format("`{}` of {} cannot be written as a picture", name, ir::name_of(element)),
               "write a .npy file, or use a buffer of u8 or f32 for grey or u32 for RGBA")
        .error();
  }
  if (!shape) {
    return bad_value(
               fmt::format("the height and the width of the picture `{}` are not known", name),
               fmt::format("add --shape {}=H,W", name))
        .error();
  }
  if (shape->height >= 1 && shape->height <= kLongestSide && shape->width >= 1 &&
      shape->width <= kLongestSide)
    return std::nullopt;
  return bad_value(fmt::format("a picture cannot have {} x {} pixels", shape->height, shape->width),
                   fmt::format("use sides from 1 to {}, or write a .npy file", kLongestSide))
      .error();
}

std::expected<std::string, Failure> to_png(const ArrayView& array) {
  const bool rgba = array.element == ir::Type::U32;
  std::span<const std::byte> pixels = array.bytes;
  ValueBytes grey;
  if (array.element == ir::Type::F32) {
    grey.resize(array.count());
    for (uint64_t i = 0; i < array.count(); ++i) {
      const double value = float_value(array.element, load_element(array.element, array.bytes, i));
      // A NaN is not greater than 0 and becomes black.
      grey[i] = static_cast<std::byte>(value > 0 ? std::lround(std::min(value, 1.0) * 255) : 0);
    }
    pixels = grey;
  }
  Writer writer;
  if (!writer.made()) throw std::bad_alloc();
  const size_t row_bytes = array.shape->width * (rgba ? 4 : 1);
  if (writer.write(static_cast<uint32_t>(array.shape->width),
                   static_cast<uint32_t>(array.shape->height),
                   rgba ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_GRAY, pixels.data(), row_bytes))
    return writer.take_file();
  if (writer.problem().no_memory) throw std::bad_alloc();
  return bad_value(fmt::format("the picture `{}` cannot be written: {}", array.name,
                               writer.problem().text.data()),
                   "write a .npy file");
}

}  // namespace vyre::cli
