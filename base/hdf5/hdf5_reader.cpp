#include <fmt/core.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hdf5/checksum.h"
#include "base/hdf5/hdf5.h"
#include "base/hdf5/hdf5_handle.h"
#include "base/read_files.h"

namespace shardsim {

using detail::Hdf5Handle;

namespace {

constexpr hsize_t kBestCompression = 1032;                // of deflate (RFC 1951): 258 bytes by 2 bits
constexpr hsize_t kSmall = 1 << 16;                       // bytes; below this nothing is asked of the storage
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of values that one file may give
constexpr hsize_t kTextsAtOnce = 64;
constexpr std::size_t kMostText = std::size_t{64} << 20;  // bytes of one dataset's texts
constexpr hsize_t kMostChunk = hsize_t{64} << 20;         // bytes of a chunk, which is held whole
constexpr hsize_t kSmallChunks = hsize_t{4} << 20;        // bytes of all chunks that nobody minds, however empty
constexpr hsize_t kMostPadding = 4;  // of the bytes of the values: two axes that go one beyond a chunk
constexpr std::size_t kChunkSlots = 521;
constexpr const char* kWriteAgain = "Write it again, or copy it again";

// A text that HDF5 allocated.
std::string taken(char* start) {
  const std::string text = start == nullptr ? "" : start;
  H5free_memory(start);
  return text;
}

// True when values of a type in a file may be read as values of the C++ type of the first argument.
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

// Says how a dataset keeps its values outside the file; "" when it holds them itself. HDF5's library would follow such
// references wherever they lead.
std::string kept_elsewhere(hid_t set) {
  const Hdf5Handle how(H5Dget_create_plist(set), H5Pclose);
  if (H5Pget_layout(how) == H5D_VIRTUAL) return "is a virtual dataset, whose values are others'";
  if (H5Pget_external_count(how) > 0) return "keeps its values in other files";
  return "";
}

// The values that the chunks of a dataset have room for, where they cover all its axes.
hsize_t room_of(const std::vector<hsize_t>& lengths, const std::vector<hsize_t>& chunk) {
  hsize_t room = 1;
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    const hsize_t chunks = lengths[axis] / chunk[axis] + (lengths[axis] % chunk[axis] > 0 ? 1 : 0);
    if (__builtin_mul_overflow(room, chunks, &room) || __builtin_mul_overflow(room, chunk[axis], &room))
      return std::numeric_limits<hsize_t>::max();
  }
  return room;
}

// Why a dataset's chunks would take far more memory and time than its values; "" where they do not. A chunk is
// unpacked whole, however few of its values are asked for, and a filter that is there twice packs a million times.
std::string chunk_fault(hid_t set, const std::vector<hsize_t>& lengths) {
  const Hdf5Handle how(H5Dget_create_plist(set), H5Pclose), type(H5Dget_type(set), H5Tclose);
  if (H5Pget_layout(how) != H5D_CHUNKED) return "";
  std::vector<hsize_t> chunk(lengths.size());
  const int axes = H5Pget_chunk(how, static_cast<int>(chunk.size()), chunk.data());
  if (axes != static_cast<int>(lengths.size()) || std::ranges::find(chunk, hsize_t{0}) != chunk.end())
    return "has chunks of another shape than its own";
  const hsize_t item = std::max<hsize_t>(1, H5Tget_size(type)), values = room_of(chunk, chunk);
  if (values > kMostChunk / item)
    return fmt::format("has chunks of {} values of {} bytes, more than {} MiB each", values, item, kMostChunk >> 20);
  const hsize_t room = room_of(lengths, chunk), held = room_of(lengths, std::vector<hsize_t>(lengths.size(), 1));
  if (room <= kSmallChunks / item || room / kMostPadding <= held) return "";
  return fmt::format("has {} values in chunks with room for {}", held, room);
}

// Why a dataset's filters are none that this reader uses; "" where they are.
std::string filter_fault(hid_t set) {
  const Hdf5Handle how(H5Dget_create_plist(set), H5Pclose);
  std::set<H5Z_filter_t> used;
  for (int i = 0; i < H5Pget_nfilters(how); ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(how, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      return fmt::format("is stored with filter {}, which is none of deflate, shuffle and fletcher32",
                         static_cast<int>(filter));
    if (!used.insert(filter).second) return "is stored with one filter twice";
  }
  return "";
}

// With a cache that holds any chunk that is read: values that are asked for in parts are unpacked once.
Hdf5Handle access_list() {
  Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access, kChunkSlots, kMostChunk, H5D_CHUNK_CACHE_W0_DEFAULT);
  return access;
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

// The bytes that the values of a dataset unfold to at most, by what it and the file take.
hsize_t most_unfolded(hid_t file, hid_t set) {
  const Hdf5Handle how(H5Dget_create_plist(set), H5Pclose);
  hsize_t size = 0;
  H5Fget_filesize(file, &size);
  const hsize_t stored = std::min(H5Dget_storage_size(set), size);
  return H5Pget_layout(how) == H5D_CHUNKED ? (stored + 1) * kBestCompression : stored;
}

// A broken or malicious header may promise more values than the file holds.
bool is_backed(hid_t file, hid_t set, std::size_t count) {
  const Hdf5Handle type(H5Dget_type(set), H5Tclose);
  const hsize_t item = H5Tget_size(type);
  if (item == 0) return false;
  return count <= kSmall / item || count <= most_unfolded(file, set) / item;
}

herr_t keep_first(unsigned depth, const H5E_error2_t* error, void* text) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

// Sets `lacked` when an error means that memory was lacking: HDF5 names the resource, and zlib's inflateInit() fails
// for nothing else.
herr_t look_for_memory(unsigned, const H5E_error2_t* error, void* lacked) {
  const std::string_view text = error->desc == nullptr ? "" : error->desc;
  const bool resource =
      error->maj_num == H5E_RESOURCE && (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC);
  if (resource || text.starts_with("memory allocation failed") || text == "inflateInit() failed")
    *static_cast<bool*>(lacked) = true;
  return 0;
}

thread_local bool memory_lacked = false;

// HDF5 calls it where a call fails, in place of printing the error stack, which the next call clears. Not again after
// memory was lacking: the library, which cannot be closed then, would say so on stderr as long as it calls somebody.
herr_t note_failure(hid_t stack, void*) {
  H5Ewalk2(stack, H5E_WALK_UPWARD, look_for_memory, &memory_lacked);
  if (memory_lacked) H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return 0;
}

}  // namespace

namespace detail {

void silence_hdf5() {
  memory_lacked = false;
  H5Eset_auto2(H5E_DEFAULT, note_failure, nullptr);
}

bool lacked_memory() {
  note_failure(H5E_DEFAULT, nullptr);
  return memory_lacked;
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
  note_read(path);
  const Checksum checksum = checksum_of(path);
  if (checksum == Checksum::wrong) refuse("it is damaged: its content does not match its checksum");
  if (checksum == Checksum::missing && origin == Hdf5Origin::shardsim)
    refuse("the checksum at its end is missing: it is cut off, damaged, or not written by shardsim");
  file_ = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  whole_ = checksum == Checksum::right;
  if (file_ < 0 && is_out_of_memory()) throw out_of_memory(path_);
  if (file_ < 0 && whole_)  // whatever it is, the file is as it was written
    throw Error(Failure::run, Place{path_}, "cannot be opened as HDF5, though it is as it was written",
                "Allow the process more memory and open files");
  if (file_ < 0 && H5Fis_hdf5(path_.c_str()) > 0)
    refuse("cannot be opened as HDF5: it is cut off or damaged", kWriteAgain);
  if (file_ < 0) refuse("cannot be opened as HDF5: it does not begin as such a file does");
}

Hdf5Reader::~Hdf5Reader() {
  H5Fclose(file_);
}

void Hdf5Reader::refuse(const std::string& wrong) const {
  refuse(wrong, "Give an HDF5 file laid out as docs/formats.md says");
}

// A damaged file may ask for more memory than any machine has. Where nobody set a limit, that is what happened to a
// file that is not known to be as it was written.
bool Hdf5Reader::is_out_of_memory() const {
  return detail::lacked_memory() && (whole_ || memory_is_limited());
}

void Hdf5Reader::refuse(const std::string& wrong, const std::string& remedy) const {
  if (is_out_of_memory()) throw out_of_memory(path_);
  throw input_error(Place{path_}, wrong, remedy);
}

// zlib fails in the same way over memory and over damaged bytes.
void Hdf5Reader::refuse_unreadable(const std::string& object) const {
  if (whole_ && memory_is_limited()) throw out_of_memory(path_);
  refuse(object + " cannot be read: the file is damaged there", kWriteAgain);
}

struct Hdf5Reader::Dataset {
  Hdf5Handle handle;
  std::vector<std::size_t> lengths;
};

bool Hdf5Reader::has(const std::string& path) const {
  const htri_t found = H5LTpath_valid(file_, path.c_str(), true);
  if (found <= 0 && is_out_of_memory()) throw out_of_memory(path_);
  return found > 0;
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
    refuse_unreadable(fmt::format("attribute {} of {}", name, object));
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
  Hdf5Handle set(H5Dopen2(file_, path.c_str(), access_list()), H5Dclose);
  // The library does not say of every step of opening that memory was lacking.
  if (!set.valid() && whole_ && memory_is_limited()) throw out_of_memory(path_);
  if (!set.valid()) refuse(path + " is no dataset, or is damaged");
  if (const std::string where = kept_elsewhere(set); !where.empty()) refuse(path + " " + where);
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  const int axes = H5Sget_simple_extent_ndims(space);
  if (axes < 0) refuse(path + " has no shape");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(axes));
  if (axes > 0) H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  if (const std::string fault = chunk_fault(set, lengths); !fault.empty())
    refuse(path + " " + fault, "Write it with smaller chunks, as h5py does by itself");
  if (const std::string fault = filter_fault(set); !fault.empty())
    refuse(path + " " + fault, "Write it with gzip and shuffle, each once, or without compression");
  return {std::move(set), {lengths.begin(), lengths.end()}};
}

std::vector<std::size_t> Hdf5Reader::shape(const std::string& path) const {
  return opened(path).lengths;
}

Hdf5Reader::Dataset Hdf5Reader::backed(const std::string& path) const {
  Dataset set = opened(path);
  const std::size_t count = count_of(set.lengths);
  if (!is_backed(file_, set.handle, count))
    refuse(fmt::format("{} says {} values, more than the file holds", path, count));
  return set;
}

std::size_t Hdf5Reader::with_bytes(const std::string& path, std::size_t before, std::size_t count,
                                   std::size_t each) const {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes) || bytes > kMostBytes - std::min(before, kMostBytes))
    refuse(
        fmt::format("{}: the file's values take more than the {} MiB that one file may hold", path, kMostBytes >> 20));
  return before + bytes;
}

void Hdf5Reader::check_columns(const std::vector<std::string>& paths, std::size_t row_bytes) const {
  std::size_t bytes = read_;
  for (const std::string& path : paths) {
    const std::size_t count = count_of(backed(path).lengths);
    bytes = with_bytes(path, bytes, count, sizeof(double));  // as large as each of the values that are read
    with_bytes(path, read_, count, row_bytes);
  }
}

template <typename Value>
Hdf5Reader::Dataset Hdf5Reader::checked(const std::string& path, const char* expected) const {
  Dataset set = backed(path);
  const Hdf5Handle type(H5Dget_type(set.handle), H5Tclose);
  if (!holds(Value{}, type)) refuse(fmt::format("{} does not hold {}", path, expected));
  read_ = with_bytes(path, read_, count_of(set.lengths), sizeof(Value));
  return set;
}

template <typename Value>
std::vector<Value> Hdf5Reader::values(const std::string& path, const char* expected) const {
  const Dataset set = checked<Value>(path, expected);
  const Hdf5Handle type(H5Dget_type(set.handle), H5Tclose);
  std::vector<Value> values(count_of(set.lengths));
  if (!values.empty() &&
      H5Dread(set.handle, in_memory(Value{}, type), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    refuse_unreadable(path);
  return values;
}

std::vector<double> Hdf5Reader::reals(const std::string& path) const {
  return values<double>(path, "real numbers");
}

std::vector<std::int64_t> Hdf5Reader::integers(const std::string& path) const {
  return values<std::int64_t>(path, "whole numbers");
}

// A few at a time, and fewer of a large file: it may name one long text, which is at most as long as the file, a
// million times.
std::vector<std::string> Hdf5Reader::texts(const std::string& path) const {
  const Dataset set = checked<const char*>(path, "texts of variable length");
  const std::size_t count = count_of(set.lengths);
  if (set.lengths.size() > 1) refuse(path + " has more than one axis");
  const Hdf5Handle type(H5Dget_type(set.handle), H5Tclose), from(H5Dget_space(set.handle), H5Sclose);
  std::vector<std::string> texts;
  hsize_t size = 0;
  H5Fget_filesize(file_, &size);
  const hsize_t at_once = std::clamp<hsize_t>(kMostText / std::max<hsize_t>(1, size), 1, kTextsAtOnce);
  std::vector<char*> starts(at_once);
  std::size_t bytes = 0;
  for (hsize_t first = 0; first < count; first += at_once) {
    const hsize_t some = std::min<hsize_t>(at_once, count - first);
    const Hdf5Handle into(H5Screate_simple(1, &some, nullptr), H5Sclose);
    if (!set.lengths.empty()) H5Sselect_hyperslab(from, H5S_SELECT_SET, &first, nullptr, &some, nullptr);
    if (H5Dread(set.handle, type, into, from, H5P_DEFAULT, starts.data()) < 0) refuse_unreadable(path);
    for (std::size_t i = 0; i < some; ++i) {
      texts.push_back(taken(starts[i]));
      bytes += texts.back().size();
    }
    if (bytes > kMostText) refuse(fmt::format("{} holds more than {} MiB of text", path, kMostText >> 20));
  }
  return texts;
}

}  // namespace shardsim
