#include "study/sweep/point_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPointFileMark = "shardsim points/3\n";
constexpr std::string_view kPointFileEnding = ".points";
constexpr std::size_t kRecordHead = 2 * sizeof(std::uint32_t);  // length of the record, checksum
constexpr std::size_t kMostRecord = std::size_t{1} << 24;       // bytes

std::uint32_t crc_of(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Calls `take` with each whole record, until one is broken; returns where that begins, or the end.
template <typename Take>
std::size_t for_records(std::string_view bytes, const Take& take) {
  if (!bytes.starts_with(kPointFileMark)) return 0;
  std::size_t at = kPointFileMark.size();
  while (at + kRecordHead <= bytes.size()) {
    const std::uint32_t length = number_at(bytes, at), crc = number_at(bytes, at + sizeof(std::uint32_t));
    if (length > kMostRecord || at + kRecordHead + length > bytes.size()) break;
    const std::string_view record = bytes.substr(at + kRecordHead, length);
    if (crc_of(record) != crc) break;
    take(record);
    at += kRecordHead + length;
  }
  return at;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw input_error({file.string()}, "cannot read it", "Change its permissions, or remove it");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Those in the folder that are called so, whatever they are, by name.
std::vector<fs::path> called_points(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == kPointFileEnding) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// Also one that a process was killed in while it wrote its first line.
bool is_point_file(const fs::path& file) {
  if (!is_file(file)) return false;
  std::string head(kPointFileMark.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), std::ssize(head));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return kPointFileMark.starts_with(head);
}

Error cannot_lock(const fs::path& file) {
  return cannot_write(file, std::strerror(errno));
}

// Nothing in the folder of points is written through a link, nor into what is no file.
void refuse_odd(const fs::path& file) {
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(file, failure);
  if (!fs::exists(status) || fs::is_regular_file(status)) return;
  throw run_error(file.string() + ": cannot write it: it is a link, a folder, a pipe or a device",
                  "Remove it, or choose another folder with -o");
}

int opened_own(const fs::path& file, int how) {
  refuse_odd(file);
  const int opened = ::open(file.c_str(), how | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (opened < 0) throw cannot_write(file, std::strerror(errno));
  return opened;
}

void write_whole(int file, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) throw cannot_write(path, std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

constexpr std::string_view kSweepMark = "shardsim sweep/1\n";

std::string line_after(const std::string& text, std::string_view key) {
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return "";
  return text.substr(begin + key.size(), text.find('\n', begin) - begin - key.size());
}

constexpr std::string_view kFileKey = "file: ", kTitleKey = "title: ", kVersionKey = "version: ";

// The part that decides the results begins with the version.
std::string identity_in(const std::string& text) {
  const std::size_t begin = text.find(kVersionKey);
  return begin == std::string::npos ? "" : text.substr(begin);
}

void refuse_other(const fs::path& file, const std::string& there, const std::string& here) {
  if (there.starts_with(kSweepMark) && identity_in(there) == identity_in(here)) return;
  const std::string other = line_after(there, kFileKey), version_there = line_after(there, kVersionKey);
  std::string wrong =
      fmt::format("it holds the points of another sweep, {} ({})", excerpt(line_after(there, kTitleKey)), other);
  if (!there.starts_with(kSweepMark)) {
    wrong = "it is no description of a sweep";
  } else if (other == line_after(here, kFileKey) && version_there != line_after(here, kVersionKey)) {
    wrong = fmt::format("version {} of shardsim began this sweep, and this is {}", version_there,
                        line_after(here, kVersionKey));
  } else if (other == line_after(here, kFileKey)) {
    wrong = fmt::format("{} has changed since this sweep began, or is changed by other options", other);
  }
  throw input_error({file.string()}, wrong,
                    "Choose another folder with -o, or remove the whole folder, points included");
}

}  // namespace

std::optional<FolderLock> FolderLock::try_lock(const fs::path& file, Kind kind) {
  const int opened = opened_own(file, O_RDWR);
  if (::flock(opened, (kind == Kind::alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return FolderLock(opened);
  const bool held = errno == EWOULDBLOCK;
  const Error failure = cannot_lock(file);
  ::close(opened);
  if (!held) throw failure;
  return std::nullopt;
}

FolderLock FolderLock::wait_for(const fs::path& file) {
  const int opened = opened_own(file, O_RDWR);
  while (::flock(opened, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const Error failure = cannot_lock(file);
    ::close(opened);
    throw failure;
  }
  return FolderLock(opened);
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

fs::path points_folder(const fs::path& output) {
  return output / "points";
}

PointFiles::PointFiles(const fs::path& output, const Sweep& sweep) : PointFiles(output, sweep, sweep_identity(sweep)) {}

PointFiles::PointFiles(const fs::path& output, const Sweep& sweep, const std::string& identity)
    : folder_(points_folder(output)), points_(sweep.points.size()), digest_(sweep_digest(identity)) {
  std::error_code failure;
  if (fs::is_symlink(folder_, failure))
    throw run_error(folder_.string() + ": a link is in the way of the points of a sweep",
                    "Remove it, or choose another folder with -o");
  fs::create_directories(folder_, failure);
  if (failure) throw cannot_write(folder_, failure.message());
  const std::string here = fmt::format("{}{}{}\n{}{}\n{}{}\n{}", kSweepMark, kFileKey, sweep.path, kTitleKey,
                                       printable(sweep.title), kVersionKey, version(), identity);
  const fs::path file = folder_ / "sweep.txt";
  refuse_odd(file);
  if (is_file(file)) {
    refuse_other(file, read_file(file.string()), here);
    return;
  }
  read();  // or the folder would be called this sweep's, and that of its points would be refused
  write_file(file, here);
}

std::vector<std::optional<PointResult>> PointFiles::read() const {
  std::vector<std::optional<PointResult>> results(points_);
  for (const fs::path& file : called_points(folder_)) {
    if (!is_file(file)) continue;
    for_records(bytes_of(file), [&](std::string_view record) {
      PointResult result = unpacked<PointResult>(record);
      if (result.sweep != digest_)
        throw input_error({file.string()}, "it holds points of another sweep",
                          "Choose another folder with -o, or remove this file");
      const bool good = result.point < points_ && result.outcome != PointResult::Outcome::died;
      if (good && !results[result.point]) results[result.point] = std::move(result);
    });
  }
  return results;
}

std::vector<fs::path> PointFiles::unusable() const {
  std::vector<fs::path> files = called_points(folder_);
  std::erase_if(files, is_point_file);
  return files;
}

PointWriter::PointWriter(const fs::path& file) : path_(file), file_(-1) {
  refuse_odd(file);
  if (is_there(file) && !is_point_file(file))
    throw input_error({file.string()}, "the file exists, and is no file of points of this version of shardsim",
                      "Remove it, or choose another folder with -o");
  const std::string bytes = is_there(file) ? bytes_of(file) : "";
  const std::size_t good = for_records(bytes, [](std::string_view) {});
  file_ = opened_own(file, O_WRONLY | O_APPEND);
  const bool cut = ::ftruncate(file_, static_cast<off_t>(good)) == 0;
  if (!cut) {
    const Error failure = cannot_write(file, std::strerror(errno));
    ::close(file_);
    throw failure;
  }
  if (good == 0) write_whole(file_, path_, kPointFileMark);
}

PointWriter::~PointWriter() {
  ::close(file_);
}

void PointWriter::append(const PointResult& result) {
  const std::string record = packed(result);
  const auto length = static_cast<std::uint32_t>(record.size());
  const std::uint32_t crc = crc_of(record);
  std::string bytes(kRecordHead, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  std::memcpy(bytes.data() + sizeof length, &crc, sizeof crc);
  write_whole(file_, path_, bytes + record);
}

}  // namespace shardsim
