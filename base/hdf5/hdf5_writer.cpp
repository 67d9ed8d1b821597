#include <fmt/core.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <stdexcept>

#include "base/error.h"
#include "base/files.h"
#include "base/hdf5/checksum.h"
#include "base/hdf5/hdf5.h"
#include "base/hdf5/hdf5_handle.h"

namespace shardsim {

using detail::Hdf5Handle;

namespace {

constexpr std::size_t kMemoryStep = std::size_t{1} << 18;  // bytes by which the file in memory grows
constexpr hsize_t kChunk = 65536;
constexpr std::size_t kConvertedBytes =
    16384;                          // of texts at a time; HDF5's own buffer of 1 MiB is zeroed for each list
constexpr unsigned kGzipLevel = 1;  // shuffled numbers shrink no further at 4, which takes twice as long

void check(bool good, const std::string& doing) {
  if (!good && detail::lacked_memory()) throw std::bad_alloc();
  if (!good)
    throw run_error(fmt::format("HDF5 failed to {}: {}", doing, detail::hdf5_cause()), "This is a fault of shardsim");
}

Hdf5Handle checked(hid_t id, herr_t (*close)(hid_t), const std::string& doing) {
  check(id >= 0, doing);
  return {id, close};
}

struct Types {
  hid_t memory, file;
};

Types types_of(double) {
  return {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE};
}
Types types_of(float) {
  return {H5T_NATIVE_FLOAT, H5T_IEEE_F32LE};
}
Types types_of(std::int8_t) {
  return {H5T_NATIVE_INT8, H5T_STD_I8LE};
}
Types types_of(std::int32_t) {
  return {H5T_NATIVE_INT32, H5T_STD_I32LE};
}
Types types_of(std::int64_t) {
  return {H5T_NATIVE_INT64, H5T_STD_I64LE};
}
Types types_of(std::uint64_t) {
  return {H5T_NATIVE_UINT64, H5T_STD_U64LE};
}

// UTF-8 text of variable length.
Hdf5Handle text_type() {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

void write_attribute(hid_t file, const std::string& object, const std::string& name, const Types& types,
                     const void* value) {
  const std::string doing = fmt::format("write attribute {} of {}", name, object);
  const Hdf5Handle owner = checked(H5Oopen(file, object.c_str(), H5P_DEFAULT), H5Oclose, doing);
  const Hdf5Handle space = checked(H5Screate(H5S_SCALAR), H5Sclose, doing);
  const Hdf5Handle attribute =
      checked(H5Acreate2(owner, name.c_str(), types.file, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, doing);
  check(H5Awrite(attribute, types.memory, value) >= 0, doing);
}

void write_text_attribute(hid_t file, const std::string& object, const std::string& name, const std::string& value) {
  const Hdf5Handle text = text_type();
  const char* start = value.c_str();
  write_attribute(file, object, name, {text, text}, &start);
}

std::vector<hsize_t> lengths_of(hid_t file, const std::vector<std::string>& axes) {
  std::vector<hsize_t> lengths;
  for (const std::string& axis : axes) {
    const Hdf5Handle scale = checked(H5Dopen2(file, axis.c_str(), H5P_DEFAULT), H5Dclose, "open scale " + axis);
    const Hdf5Handle space = checked(H5Dget_space(scale), H5Sclose, "read scale " + axis);
    lengths.push_back(static_cast<hsize_t>(H5Sget_simple_extent_npoints(space)));
  }
  return lengths;
}

// Without times of creation, which HDF5 writes by default: they would make two runs differ.
Hdf5Handle creation_list(const std::vector<hsize_t>& lengths, Hdf5Layout layout) {
  Hdf5Handle list = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a creation list");
  check(H5Pset_obj_track_times(list, false) >= 0, "switch times off");
  const bool empty = std::find(lengths.begin(), lengths.end(), hsize_t{0}) != lengths.end();
  if (layout == Hdf5Layout::plain || lengths.empty() || empty) return list;
  std::vector<hsize_t> chunk;
  for (hsize_t length : lengths) chunk.push_back(std::min(length, kChunk));
  check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()) >= 0, "set the chunk size");
  check(H5Pset_shuffle(list) >= 0, "put like bytes of numbers side by side");
  check(H5Pset_deflate(list, kGzipLevel) >= 0, "switch compression on");
  return list;
}

Hdf5Handle link_list() {
  Hdf5Handle list = checked(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "make a link list");
  check(H5Pset_create_intermediate_group(list, 1) >= 0, "make missing groups");
  return list;
}

Hdf5Handle space_of(const std::vector<hsize_t>& lengths) {
  if (lengths.empty()) return checked(H5Screate(H5S_SCALAR), H5Sclose, "make a scalar");
  return checked(H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr), H5Sclose, "make axes");
}

Hdf5Handle transfer_list() {
  Hdf5Handle list = checked(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "make a transfer list");
  check(H5Pset_buffer(list, kConvertedBytes, nullptr, nullptr) >= 0, "set the size of a buffer");
  return list;
}

struct NewDataset {
  const std::string& path;
  std::vector<hsize_t> lengths;
  Types types;
  Hdf5Layout layout = Hdf5Layout::plain;
};

void write_dataset(hid_t file, const NewDataset& what, const void* values, const Hdf5Meaning& meaning) {
  const std::string doing = "write " + what.path;
  {
    const Hdf5Handle links = link_list();
    const Hdf5Handle creation = creation_list(what.lengths, what.layout);
    const Hdf5Handle space = space_of(what.lengths);
    const Hdf5Handle set = checked(
        H5Dcreate2(file, what.path.c_str(), what.types.file, space, links, creation, H5P_DEFAULT), H5Dclose, doing);
    const Hdf5Handle transfer = transfer_list();
    if (H5Sget_simple_extent_npoints(space) > 0)
      check(H5Dwrite(set, what.types.memory, H5S_ALL, H5S_ALL, transfer, values) >= 0, doing);
  }
  if (!meaning.units.empty()) write_text_attribute(file, what.path, "units", meaning.units);
  if (!meaning.long_name.empty()) write_text_attribute(file, what.path, "long_name", meaning.long_name);
}

void attach_scales(hid_t file, const std::string& path, const std::vector<std::string>& axes) {
  const Hdf5Handle set = checked(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const Hdf5Handle scale = checked(H5Dopen2(file, axes[axis].c_str(), H5P_DEFAULT), H5Dclose, "open " + axes[axis]);
    check(H5DSattach_scale(set, scale, static_cast<unsigned>(axis)) >= 0, "attach the scale of " + path);
  }
}

void check_size(const std::string& path, const std::vector<hsize_t>& lengths, std::size_t values) {
  const hsize_t due = std::accumulate(lengths.begin(), lengths.end(), hsize_t{1}, std::multiplies<>());
  if (due != values) throw std::logic_error(fmt::format("{}: {} values for axes of {}", path, values, due));
}

std::string image_of(hid_t file) {
  check(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "complete the file");
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  check(size >= 0, "measure the file");
  std::string image(static_cast<std::size_t>(size), '\0');
  check(H5Fget_file_image(file, image.data(), image.size()) == size, "copy the file");
  return image;
}

}  // namespace

// Built in memory, so that HDF5 never meets a full disk: the C library of Debian 12 (1.10.8) cannot close a file whose
// last write failed.
Hdf5Writer::Hdf5Writer() : file_(-1) {
  detail::silence_hdf5();
  const Hdf5Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make an access list");
  check(H5Pset_fapl_core(access, kMemoryStep, false) >= 0, "work in memory");
  const std::string name =
      fmt::format("shardsim-{}", static_cast<const void*>(this));  // never on disk, never in the file
  file_ = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  check(file_ >= 0, "make a file in memory");
}

Hdf5Writer::~Hdf5Writer() {
  H5Fclose(file_);
}

void Hdf5Writer::make_group(const std::string& path) {
  const std::string doing = "make group " + path;
  if (H5Oexists_by_name(file_, path.c_str(), H5P_DEFAULT) > 0) return;
  checked(H5Gcreate2(file_, path.c_str(), link_list(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose, doing);
}

void Hdf5Writer::text_attribute(const std::string& object, const std::string& name, const std::string& value) {
  make_group(object);
  write_text_attribute(file_, object, name, value);
}

template <typename Number>
void Hdf5Writer::attribute(const std::string& object, const std::string& name, Number value) {
  make_group(object);
  write_attribute(file_, object, name, types_of(Number{}), &value);
}

template <typename Number>
void Hdf5Writer::scale(const std::string& path, std::size_t length, const Hdf5Meaning& meaning, Hdf5Layout layout) {
  std::vector<Number> values(length);
  std::iota(values.begin(), values.end(), Number{0});
  write_dataset(file_, {path, {length}, types_of(Number{}), layout}, values.data(), meaning);
  const Hdf5Handle set = checked(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose, "open " + path);
  check(H5DSset_scale(set, nullptr) >= 0, "make a scale of " + path);
}

template <typename Number>
void Hdf5Writer::dataset(const std::string& path, std::span<const Number> values, const std::vector<std::string>& axes,
                         const Hdf5Meaning& meaning, Hdf5Layout layout) {
  const std::vector<hsize_t> lengths = lengths_of(file_, axes);
  check_size(path, lengths, values.size());
  write_dataset(file_, {path, lengths, types_of(Number{}), layout}, values.data(), meaning);
  attach_scales(file_, path, axes);
}

void Hdf5Writer::texts(const std::string& path, const std::vector<std::string>& values, const std::string& axis,
                       const Hdf5Meaning& meaning) {
  const std::vector<hsize_t> lengths = lengths_of(file_, {axis});
  check_size(path, lengths, values.size());
  std::vector<const char*> starts;
  for (const std::string& value : values) starts.push_back(value.c_str());
  const Hdf5Handle text = text_type();
  write_dataset(file_, {path, lengths, {text, text}}, starts.data(), meaning);
  attach_scales(file_, path, {axis});
}

void Hdf5Writer::save(const std::filesystem::path& path) {
  const std::string image = image_of(file_);
  write_file(path, image + checksum_line(image));
}

template void Hdf5Writer::attribute(const std::string&, const std::string&, std::int8_t);
template void Hdf5Writer::attribute(const std::string&, const std::string&, std::int32_t);
template void Hdf5Writer::attribute(const std::string&, const std::string&, std::int64_t);
template void Hdf5Writer::attribute(const std::string&, const std::string&, std::uint64_t);
template void Hdf5Writer::attribute(const std::string&, const std::string&, double);
template void Hdf5Writer::scale<std::int32_t>(const std::string&, std::size_t, const Hdf5Meaning&, Hdf5Layout);
template void Hdf5Writer::scale<std::int64_t>(const std::string&, std::size_t, const Hdf5Meaning&, Hdf5Layout);
template void Hdf5Writer::dataset(const std::string&, std::span<const double>, const std::vector<std::string>&,
                                  const Hdf5Meaning&, Hdf5Layout);
template void Hdf5Writer::dataset(const std::string&, std::span<const float>, const std::vector<std::string>&,
                                  const Hdf5Meaning&, Hdf5Layout);
template void Hdf5Writer::dataset(const std::string&, std::span<const std::int32_t>, const std::vector<std::string>&,
                                  const Hdf5Meaning&, Hdf5Layout);
template void Hdf5Writer::dataset(const std::string&, std::span<const std::int64_t>, const std::vector<std::string>&,
                                  const Hdf5Meaning&, Hdf5Layout);

}  // namespace shardsim
