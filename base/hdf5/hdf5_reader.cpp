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

constexpr hsize_t kBestCompression = 1032;  // of deflate (RFC 1951): 258 bytes by 2 bits
constexpr hsize_t kSmall = 1 << 16;         // bytes; below this nothing is asked of the storage

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
  return text.empty() ? "HDF5 gives no cause" : text;
}

}  // namespace detail

Hdf5Reader::Hdf5Reader(const std::filesystem::path& path, Hdf5Origin origin) : path_(path.string()) {
  detail::silence_hdf5();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) refuse(error ? error.message() : "there is no such file");
  if (!is_file(path)) refuse("this is no plain file");
  const Checksum checksum = checksum_of(path);
  if (checksum == Checksum::wrong) refuse("it is damaged: its bytes are not those that its checksum was made of");
  if (checksum == Checksum::missing && origin == Hdf5Origin::shardsim)
    refuse("the checksum at its end is missing: it is cut off, damaged, or not written by shardsim");
  file_ = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ < 0) refuse("cannot be opened as HDF5: " + detail::hdf5_cause());
}

Hdf5Reader::~Hdf5Reader() {
  H5Fclose(file_);
}

void Hdf5Reader::refuse(const std::string& wrong) const {
  throw input_error(Place{path_}, wrong, "Give an HDF5 file laid out as docs/formats.md says");
}

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

std::vector<std::size_t> Hdf5Reader::shape(const std::string& path) const {
  if (!has(path)) refuse(path + " is missing");
  const Hdf5Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!set.valid()) refuse(fmt::format("{} is no dataset: {}", path, detail::hdf5_cause()));
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const int axes = H5Sget_simple_extent_ndims(space);
  if (axes < 0) refuse(path + " has no shape");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(axes));
  if (axes > 0) H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  return {lengths.begin(), lengths.end()};
}

template <typename Value>
std::vector<Value> Hdf5Reader::values(const std::string& path, const char* expected) const {
  const std::size_t count = count_of(shape(path));
  const Hdf5Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  if (!holds(Value{}, type)) refuse(fmt::format("{} does not hold {}", path, expected));
  if (!is_backed(set, type, count)) refuse(fmt::format("{} says {} values, more than the file holds", path, count));
  std::vector<Value> values(count);
  if (count > 0 && H5Dread(set, in_memory(Value{}, type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    refuse(fmt::format("{} cannot be read: {}", path, detail::hdf5_cause()));
  return values;
}

std::vector<double> Hdf5Reader::reals(const std::string& path) const {
  return values<double>(path, "real numbers");
}

std::vector<std::int64_t> Hdf5Reader::integers(const std::string& path) const {
  return values<std::int64_t>(path, "whole numbers");
}

std::vector<std::string> Hdf5Reader::texts(const std::string& path) const {
  std::vector<std::string> texts;
  for (char* start : values<char*>(path, "texts of variable length")) texts.push_back(taken(start));
  return texts;
}

}  // namespace shardsim
