#include "base/read_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <compare>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"

namespace shardsim {
namespace {

// A file by what it is, not by one of its names: device, inode, and the time it was last written, because the inode of
// a file that is gone is soon another file's.
struct FileKey {
  dev_t device = 0;
  ino_t inode = 0;
  time_t written_s = 0;
  long written_ns = 0;
  auto operator<=>(const FileKey&) const = default;
};

struct ReadFiles {
  std::mutex mutex;
  std::set<FileKey> keys;
};

ReadFiles& read_files() {
  static ReadFiles files;
  return files;
}

std::optional<FileKey> key_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileKey{status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

thread_local ReadsHere* t_reads_here = nullptr;

}  // namespace

ReadsHere::ReadsHere() : outer_(std::exchange(t_reads_here, this)) {}

ReadsHere::~ReadsHere() {
  t_reads_here = outer_;
}

void note_read(const std::filesystem::path& path) {
  if (t_reads_here != nullptr) t_reads_here->paths_.push_back(path);
  const auto key = key_of(path);
  if (!key) return;
  const std::lock_guard lock(read_files().mutex);
  read_files().keys.insert(*key);
}

std::ifstream open_to_read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw cannot_read(path.string(), errno);
  note_read(path);
  return file;
}

std::string packed_reads() {
  const std::lock_guard lock(read_files().mutex);
  std::string packed;
  for (const FileKey& key : read_files().keys) packed.append(reinterpret_cast<const char*>(&key), sizeof key);
  return packed;
}

void note_packed_reads(std::string_view reads) {
  const std::lock_guard lock(read_files().mutex);
  for (FileKey key; reads.size() >= sizeof key; reads.remove_prefix(sizeof key)) {
    std::memcpy(&key, reads.data(), sizeof key);
    read_files().keys.insert(key);
  }
}

void forget_read(const std::filesystem::path& path) {
  const auto key = key_of(path);
  if (!key) return;
  const std::lock_guard lock(read_files().mutex);
  read_files().keys.erase(*key);
}

bool was_read(const std::filesystem::path& path) {
  const auto key = key_of(path);
  if (!key) return false;
  const std::lock_guard lock(read_files().mutex);
  return read_files().keys.contains(*key);
}

}  // namespace shardsim
