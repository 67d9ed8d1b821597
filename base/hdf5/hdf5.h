#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace shardsim {

// The meaning of a number, as the attributes `units` ("ms", "B", "1" for counts) and `long_name`; empty ones are left
// out.
struct Hdf5Meaning {
  std::string units;
  std::string long_name;
};

enum class Hdf5Layout {
  plain,
  packed,  // gzip level 1, chunks of at most 65,536 values
};

// A new HDF5 file, built in memory and saved whole: the same calls give the same bytes. Paths are absolute
// ("/case/name"); missing groups are made. Numbers are double, float, std::int8_t, std::int32_t, std::int64_t,
// std::uint64_t, little-endian in the file; texts are of variable length, UTF-8. Every axis of every dataset has a
// dimension scale, without which xarray refuses the file. Errors: Failure::run with the cause as HDF5 names it;
// std::bad_alloc where memory is lacking; std::logic_error when axes and values do not match.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void text_attribute(const std::string& object, const std::string& name, const std::string& value);
  template <typename Number>
  void attribute(const std::string& object, const std::string& name, Number value);

  // The coordinate 0, 1, ... length - 1 of an axis.
  template <typename Number>
  void scale(const std::string& path, std::size_t length, const Hdf5Meaning& meaning,
             Hdf5Layout layout = Hdf5Layout::plain);
  // `axes`: paths of the scales, slowest first; no axis: one value.
  template <typename Number>
  void dataset(const std::string& path, std::span<const Number> values, const std::vector<std::string>& axes,
               const Hdf5Meaning& meaning, Hdf5Layout layout = Hdf5Layout::plain);
  void texts(const std::string& path, const std::vector<std::string>& values, const std::string& axis,
             const Hdf5Meaning& meaning);
  template <typename Number>
  void value(const std::string& path, Number value, const Hdf5Meaning& meaning) {
    dataset<Number>(path, std::span<const Number>(&value, 1), {}, meaning);
  }

  // Writes the file whole or not at all, its checksum as the last line. Errors: Failure::run naming the path and the
  // cause (a full disk, say).
  void save(const std::filesystem::path& path);

 private:
  void make_group(const std::string& path);

  std::int64_t file_;
};

// Who may have written a file: `shardsim` means ours alone, whose checksum must be there.
enum class Hdf5Origin { anybody, shardsim };

// An HDF5 file, read only; one that has our checksum is refused where it is damaged. Errors: Failure::input naming the
// file, the object and what is wrong with it: missing, of another type or shape, broken, kept outside of the file;
// Failure::run naming the file where HDF5 does not get its memory, which says nothing against the file.
// Reading takes no more memory than the size of the file can account for, at most 1 GiB of values in all, and at most
// 64 MiB of text in a dataset. Files are refused if a chunk is larger than 64 MiB or has far more room than values, or
// if they use a filter other than deflate, shuffle and fletcher32, or one of these twice. Links to other files are not
// followed, and no plug-in is loaded.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::filesystem::path& path, Hdf5Origin origin = Hdf5Origin::anybody);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  bool has(const std::string& path) const;
  std::string text_attribute(const std::string& object, const std::string& name) const;
  std::int64_t integer_attribute(const std::string& object, const std::string& name) const;
  double real_attribute(const std::string& object, const std::string& name) const;

  std::vector<std::size_t> shape(const std::string& path) const;  // empty for a single value
  // Refuses columns that the file does not hold, or that take more memory than one file may, together or as rows of so
  // many bytes. For callers that make room for many columns before they read them: nothing is read.
  void check_columns(const std::vector<std::string>& paths, std::size_t row_bytes) const;
  // All values, slowest axis first.
  std::vector<double> reals(const std::string& path) const;           // of a floating-point dataset
  std::vector<std::int64_t> integers(const std::string& path) const;  // of an integer dataset
  std::vector<std::string> texts(const std::string& path) const;      // of variable-length strings

  // An input error at this file.
  [[noreturn]] void refuse(const std::string& wrong) const;
  [[noreturn]] void refuse(const std::string& wrong, const std::string& remedy) const;

 private:
  template <typename Value>
  Value attribute(const std::string& object, const std::string& name, const char* expected) const;
  struct Dataset;
  Dataset opened(const std::string& path) const;
  // One whose values the file has room for.
  Dataset backed(const std::string& path) const;
  template <typename Value>
  Dataset checked(const std::string& path, const char* expected) const;
  template <typename Value>
  std::vector<Value> values(const std::string& path, const char* expected) const;
  // The bytes before and those of so many values; refuses what is beyond the limit of a file.
  std::size_t with_bytes(const std::string& path, std::size_t before, std::size_t count, std::size_t each) const;
  bool is_out_of_memory() const;
  [[noreturn]] void refuse_unreadable(const std::string& object) const;

  std::string path_;
  bool whole_ = false;  // as it was written, by its checksum
  std::int64_t file_ = -1;
  mutable std::size_t read_ = 0;  // bytes of values
};

}  // namespace shardsim
