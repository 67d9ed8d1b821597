#include <fmt/core.h>
#include <hdf5.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/hdf5/hdf5.h"
#include "base/hdf5/hdf5_handle.h"

namespace shardsim {

using detail::Hdf5Handle;

namespace {

constexpr hsize_t kBestCompression = 1032;  // of deflate (RFC 1951): 258 bytes by 2 bits
constexpr hsize_t kSmall = 1 << 16;         // bytes; below this nothing is asked of the storage

hid_t native_type(double) {
  return H5T_NATIVE_DOUBLE;
}
hid_t native_type(std::int64_t) {
  return H5T_NATIVE_INT64;
}

std::string text_of(const char* start) {
  return start == nullptr ? std::string() : std::string(start);
}

bool is_variable_text(hid_t type) {
  return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
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

Hdf5Handle hdf5_text_type() {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

}  // namespace detail

Hdf5Reader::Hdf5Reader(const std::filesystem::path& path) : path_(path.string()) {
  detail::silence_hdf5();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) refuse(error ? error.message() : "there is no such file");
  if (!is_file(path)) refuse("this is no plain file");
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
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string upto = path.substr(0, end);
    if (H5Lexists(file_, upto.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) return H5Oexists_by_name(file_, path.c_str(), H5P_DEFAULT) > 0;
  }
}

std::string Hdf5Reader::text_attribute(const std::string& object, const std::string& name) const {
  const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) refuse(fmt::format("attribute {} of {} is missing", name, object));
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  if (!is_variable_text(type) || H5Sget_simple_extent_npoints(space) != 1)
    refuse(fmt::format("attribute {} of {} is no text", name, object));
  char* start = nullptr;
  if (H5Aread(attribute, type, &start) < 0)
    refuse(fmt::format("attribute {} of {} cannot be read: {}", name, object, detail::hdf5_cause()));
  std::string text = text_of(start);
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, &start);
  return text;
}

std::int64_t Hdf5Reader::integer_attribute(const std::string& object, const std::string& name) const {
  const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) refuse(fmt::format("attribute {} of {} is missing", name, object));
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  std::int64_t value = 0;
  if (H5Tget_class(type) != H5T_INTEGER || H5Sget_simple_extent_npoints(space) != 1)
    refuse(fmt::format("attribute {} of {} is no whole number", name, object));
  if (H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0)
    refuse(fmt::format("attribute {} of {} cannot be read: {}", name, object, detail::hdf5_cause()));
  return value;
}

double Hdf5Reader::real_attribute(const std::string& object, const std::string& name) const {
  const Hdf5Handle attribute(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) refuse(fmt::format("attribute {} of {} is missing", name, object));
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  double value = 0;
  if (H5Tget_class(type) != H5T_FLOAT || H5Sget_simple_extent_npoints(space) != 1)
    refuse(fmt::format("attribute {} of {} is no real number", name, object));
  if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0)
    refuse(fmt::format("attribute {} of {} cannot be read: {}", name, object, detail::hdf5_cause()));
  return value;
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

template <typename Number>
std::vector<Number> Hdf5Reader::numbers(const std::string& path, int type_class, const char* expected) const {
  const std::size_t count = count_of(shape(path));
  const Hdf5Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  if (H5Tget_class(type) != type_class) refuse(fmt::format("{} does not hold {}", path, expected));
  if (!is_backed(set, type, count)) refuse(fmt::format("{} says {} values, more than the file holds", path, count));
  std::vector<Number> values(count);
  if (count > 0 && H5Dread(set, native_type(Number{}), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    refuse(fmt::format("{} cannot be read: {}", path, detail::hdf5_cause()));
  return values;
}

std::vector<double> Hdf5Reader::reals(const std::string& path) const {
  return numbers<double>(path, H5T_FLOAT, "real numbers");
}

std::vector<std::int64_t> Hdf5Reader::integers(const std::string& path) const {
  return numbers<std::int64_t>(path, H5T_INTEGER, "whole numbers");
}

std::vector<std::string> Hdf5Reader::texts(const std::string& path) const {
  const std::size_t count = count_of(shape(path));
  const Hdf5Handle set(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  if (!is_variable_text(type)) refuse(path + " does not hold texts of variable length");
  if (!is_backed(set, type, count)) refuse(fmt::format("{} says {} values, more than the file holds", path, count));
  std::vector<char*> starts(count, nullptr);
  if (count > 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, starts.data()) < 0)
    refuse(fmt::format("{} cannot be read: {}", path, detail::hdf5_cause()));
  std::vector<std::string> values;
  for (const char* start : starts) values.push_back(text_of(start));
  if (count > 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, starts.data());
  return values;
}

}  // namespace shardsim
