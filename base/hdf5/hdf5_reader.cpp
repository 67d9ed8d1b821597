#include <fmt/core.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/hdf5/checksum.h"
#include "base/hdf5/hdf5.h"
#include "base/hdf5/hdf5_handle.h"

namespace shardsim {

using detail::Hdf5Handle;

namespace {

constexpr hsize_t kBestCompression = 1032;                // of deflate (RFC 1951): 258 bytes by 2 bits
constexpr hsize_t kSmall = 1 << 16;                       // bytes; below this nothing is asked of the storage
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of values that one file may give
constexpr hsize_t kTextsAtOnce = 64;
constexpr std::size_t kMostText = std::size_t{64} << 20;  // bytes of one dataset's texts

// A text that HDF5 allocated.
std::string taken(char* start) {
  const std::string text = start == nullptr ? "" : start;
  H5free_memory(start);
  return text;
}

// Whether values of a type in a file may be read as the values of ours.
bool holds(double, hid_t type) {
  return H5Tget_class(type) == H5T_FLOAT;
}
bool holds(std::int64_t, hid_t type) {
  return H5Tget_class(type) == H5T_INTEGER;
}
bool holds(const char*, hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
}

// A file is its own bytes: a link to another file is as if it were not there, and no code is loaded for its filters.
void refuse_what_is_outside() {
  H5Lunregister(H5L_TYPE_EXTERNAL);
  H5PLset_loading_state(0);
}

// What a dataset keeps outside of the file, or maps from elsewhere, where HDF5's library follows it wherever it leads;
// "" where it has its values itself.
std::string kept_elsewhere(hid_t set) {
  const Hdf5Handle how(H5Dget_create_plist(set), H5Pclose);
  if (H5Pget_layout(how) == H5D_VIRTUAL) return "is a virtual dataset, whose values are others'";
  if (H5Pget_external_count(how) > 0) return "keeps its values in other files";
  return "";
}

// The type in memory; texts are read as they are in the file.
hid_t in_memory(double, hid_t) {
  return H5T_NATIVE_DOUBLE;
}
hid_t in_memory(std::int64_t, hid_t) {
  return H5T_NATIVE_INT64;
}
hid_t in_memory(const char*, hid_t stored) {
  return stored;
}

// The number of values; lengths whose product overflows count as more than any file holds.
std::size_t count_of(const std::vector<std::size_t>& lengths) {
  std::size_t count = 1;
  for (std::size_t length : lengths)
    if (__builtin_mul_overflow(count, length, &count)) return std::numeric_limits<std::size_t>::max();
  return count;
}

// A broken or malicious header may promise more values than the file holds.
bool is_backed(hid_t set, hid_t type, std::size_t count) {
  const hsize_t item = H5Tget_size(type);
  if (item == 0) return false;
  const hsize_t stored = H5Dget_storage_size(set);
  return count <= kSmall / item || count / kBestCompression <= stored / item + 1;
}

herr_t keep_first(unsigned depth, const H5E_error2_t* error, void* text) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

namespace detail {

void silence_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string hdf5_cause() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text = text.substr(0, text.find(": time = "));  // what follows are times and addresses, others in every run
  return text.empty() ? "HDF5 gives no cause" : text;
}

}  // namespace detail

Hdf5Reader::Hdf5Reader(const std::filesystem::path& path, Hdf5Origin origin) : path_(path.string()) {
  detail::silence_hdf5();
  refuse_what_is_outside();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) refuse(error ? error.message() : "there is no such file");
  if (!is_file(path)) refuse("it is not a regular file");
  const Checksum checksum = checksum_of(path);
  if (checksum == Checksum::wrong) refuse("it is damaged: its content does not match its checksum");
  if (checksum == Checksum::missing && origin == Hdf5Origin::shardsim)
    refuse("the checksum at its end is missing: it is cut off, damaged, or not written by shardsim");
  file_ = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ < 0 && checksum == Checksum::right)  // whatever it is, the file is as it was written
    throw Error(Failure::run, Place{path_}, "cannot be opened as HDF5: " + detail::hdf5_cause(),
                "Allow the process more memory and open files");
  if (file_ < 0) refuse("cannot be opened as HDF5: " + detail::hdf5_cause());
}

Hdf5Reader::~Hdf5Reader() {
  H5Fclose(file_);
}

void Hdf5Reader::refuse(const std::string& wrong) const {
  throw input_error(Place{path_}, wrong, "Give an HDF5 file laid out as docs/formats.md says");
}

struct Hdf5Reader::Dataset {
  Hdf5Handle handle;
  std::vector<std::size_t> lengths;
};

bool Hdf5Reader::has(const std::string& path) const {
  return H5LTpath_valid(file_, path.c_str(), true) > 0;
}

template <typename Value>
Value Hdf5Reader::attribute(const std::string& object, const std::string& name, const char* expected) const {
  const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) refuse(fmt::format("attribute {} of {} is missing", name, object));
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  Value value{};
  if (!holds(value, type) || H5Sget_simple_extent_npoints(space) != 1)
    refuse(fmt::format("attribute {} of {} is no {}", name, object, expected));
  if (H5Aread(attribute, in_memory(value, type), &value) < 0)
    refuse(fmt::format("attribute {} of {} cannot be read: {}", name, object, detail::hdf5_cause()));
  return value;
}

std::string Hdf5Reader::text_attribute(const std::string& object, const std::string& name) const {
  return taken(attribute<char*>(object, name, "text"));
}

std::int64_t Hdf5Reader::integer_attribute(const std::string& object, const std::string& name) const {
  return attribute<std::int64_t>(object, name, "whole number");
}

double Hdf5Reader::real_attribute(const std::string& object, const std::string& name) const {
  return attribute<double>(object, name, "real number");
}

Hdf5Reader::Dataset Hdf5Reader::opened(const std::string& path) const {
  if (!has(path)) refuse(path + " is missing");
  Hdf5Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.valid()) refuse(fmt::format("{} is no dataset: {}", path, detail::hdf5_cause()));
  if (const std::string where = kept_elsewhere(set); !where.empty()) refuse(path + " " + where);
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const int axes = H5Sget_simple_extent_ndims(space);
  if (axes < 0) refuse(path + " has no shape");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(axes));
  if (axes > 0) H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  return {std::move(set), {lengths.begin(), lengths.end()}};
}

std::vector<std::size_t> Hdf5Reader::shape(const std::string& path) const {
  return opened(path).lengths;
}

void Hdf5Reader::count_bytes(const std::string& path, std::size_t count, std::size_t each) const {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes) || bytes > kMostBytes - std::min(read_, kMostBytes))
    refuse(
        fmt::format("{}: the file's values take more than the {} MiB that one file may hold", path, kMostBytes >> 20));
  read_ += bytes;
}

template <typename Value>
Hdf5Reader::Dataset Hdf5Reader::checked(const std::string& path, const char* expected) const {
  Dataset set = opened(path);
  const std::size_t count = count_of(set.lengths);
  const Hdf5Handle type(H5Dget_type(set.handle), H5Tclose);
  if (!holds(Value{}, type)) refuse(fmt::format("{} does not hold {}", path, expected));
  if (!is_backed(set.handle, type, count))
    refuse(fmt::format("{} says {} values, more than the file holds", path, count));
  count_bytes(path, count, sizeof(Value));
  return set;
}

template <typename Value>
std::vector<Value> Hdf5Reader::values(const std::string& path, const char* expected) const {
  const Dataset set = checked<Value>(path, expected);
  const Hdf5Handle type(H5Dget_type(set.handle), H5Tclose);
  std::vector<Value> values(count_of(set.lengths));
  if (!values.empty() &&
      H5Dread(set.handle, in_memory(Value{}, type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    refuse(fmt::format("{} cannot be read: {}", path, detail::hdf5_cause()));
  return values;
}

std::vector<double> Hdf5Reader::reals(const std::string& path) const {
  return values<double>(path, "real numbers");
}

std::vector<std::int64_t> Hdf5Reader::integers(const std::string& path) const {
  return values<std::int64_t>(path, "whole numbers");
}

// A few at a time: a small file may name one long text a million times.
std::vector<std::string> Hdf5Reader::texts(const std::string& path) const {
  const Dataset set = checked<const char*>(path, "texts of variable length");
  const std::size_t count = count_of(set.lengths);
  if (set.lengths.size() > 1) refuse(path + " has more than one axis");
  const Hdf5Handle type(H5Dget_type(set.handle), H5Tclose), from(H5Dget_space(set.handle), H5Sclose);
  std::vector<std::string> texts;
  std::vector<char*> starts(kTextsAtOnce);
  std::size_t bytes = 0;
  for (hsize_t first = 0; first < count; first += kTextsAtOnce) {
    const hsize_t some = std::min<hsize_t>(kTextsAtOnce, count - first);
    const Hdf5Handle into(H5Screate_simple(1, &some, nullptr), H5Sclose);
    if (!set.lengths.empty()) H5Sselect_hyperslab(from, H5S_SELECT_SET, &first, nullptr, &some, nullptr);
    if (H5Dread(set.handle, type, into, from, H5P_DEFAULT, starts.data()) < 0)
      refuse(fmt::format("{} cannot be read: {}", path, detail::hdf5_cause()));
    for (std::size_t i = 0; i < some; ++i) {
      texts.push_back(taken(starts[i]));
      bytes += texts.back().size();
    }
    if (bytes > kMostText) refuse(fmt::format("{} holds more than {} MiB of text", path, kMostText >> 20));
  }
  return texts;
}

}  // namespace shardsim
