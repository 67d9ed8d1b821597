#include "base/result_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/at_end.h"
#include "base/error.h"
#include "base/files.h"
#include "base/replaced.h"
#include "base/stop_signals.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames = ".shardsim-files";
constexpr const char* kHidden = ".shardsim-run-";
constexpr std::string_view kTemporary = ".shardsim-";  // and six characters: as write_file names them
constexpr std::size_t kTemporaryLength = kTemporary.size() + 6;

// One writer at a time. The lock is on the folder itself and goes with the process that holds it, so none is ever
// stale. Where a file system has no locks, nobody is kept out.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0) throw cannot_write(folder, std::strerror(errno));
    if (::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(folder_);
    throw run_error(folder.string() + ": another run is writing its results there now",
                    "Wait for its end, or choose another folder with -o");
  }
  ~FolderLock() { ::close(folder_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

fs::path new_hidden_folder(const fs::path& target) {
  std::string name = (target / kHidden).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw cannot_write(target, std::strerror(errno));
  return name;
}

// Names in a folder that begin so.
std::vector<fs::path> beginning_with(const fs::path& folder, std::string_view start) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    if (at->path().filename().string().starts_with(start)) found.push_back(at->path());
  return found;
}

void remove_half_written(const fs::path& target) {
  std::error_code ignored;
  for (const fs::path& folder : beginning_with(target, kHidden)) fs::remove_all(folder, ignored);
  remove_abandoned_files(target);
}

// Whether a temporary file of write_file has lost its writer, whose lock it would have.
bool is_abandoned(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(fs::symlink_status(path, failure))) return false;
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  const bool unlocked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return unlocked;
}

// Names below the target of what the last run wrote; a name that leads out of it is nobody's that we know.
std::set<std::string> names_in(const fs::path& target) {
  std::set<std::string> names;
  if (!is_file(target / kNames)) return names;
  for (const std::string& name : split(read_file((target / kNames).string()), '\n')) {
    const fs::path path(name);
    const bool inside = !path.empty() && path.is_relative() && std::ranges::find(path, "..") == path.end();
    if (inside) names.insert(name);
  }
  return names;
}

std::set<std::string> written_names(const fs::path& hidden) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(hidden))
    if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(hidden).string());
  return names;
}

// The folders between the target and a file of its, outermost first.
std::vector<fs::path> folders_above(const fs::path& target, const std::string& name) {
  std::vector<fs::path> folders;
  fs::path folder = target;
  for (const fs::path& part : fs::path(name).parent_path()) folders.push_back(folder /= part);
  return folders;
}

// Everything that can be refused is refused before the first file moves.
void refuse_foreign(const fs::path& target, const std::set<std::string>& names, const std::set<std::string>& ours,
                    ForeignFiles foreign) {
  const auto refuse = [](const fs::path& path, const std::string& what) {
    throw run_error(path.string() + ": " + what, "Remove it, or choose another folder with -o");
  };
  std::error_code failure;
  if (fs::is_symlink(target / kNames, failure)) refuse(target / kNames, "a link is in the way of results");
  for (const std::string& name : names) {
    for (const fs::path& folder : folders_above(target, name))
      if (fs::is_symlink(folder, failure))
        refuse(folder, "a symbolic link has the name of a result file, and shardsim does not write through links");
    const fs::file_status status = fs::symlink_status(target / name, failure);
    if (!fs::exists(status)) continue;
    if (!fs::is_regular_file(status))
      refuse(target / name, "something that is not a regular file has this name, and shardsim does not replace it");
    if (!ours.contains(name) && foreign == ForeignFiles::refused)
      refuse(target / name, "this file was not written by an earlier run, so shardsim does not replace it");
  }
}

void write_names(const fs::path& target, const std::set<std::string>& names) {
  write_file(target / kNames, join({names.begin(), names.end()}, "\n") + "\n");
}

// What other programs read (result.json, drift.json, sweep.csv) arrives after everything else: where it is, all is.
std::vector<std::string> in_order_of_arrival(const std::set<std::string>& names) {
  const auto turn = [](const std::string& name) {
    const fs::path path(name);
    if (path.has_parent_path()) return 0;
    return path.extension() == ".json" ? 3 : path.extension() == ".csv" ? 2 : 1;
  };
  std::vector<std::string> ordered(names.begin(), names.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const std::string& a, const std::string& b) { return turn(a) < turn(b); });
  return ordered;
}

void remove_results(const fs::path& target, const std::set<std::string>& names) {
  const std::vector<std::string> arrived = in_order_of_arrival(names);
  std::error_code ignored;
  for (auto name = arrived.rbegin(); name != arrived.rend(); ++name) {
    fs::remove(target / *name, ignored);
    std::vector<fs::path> folders = folders_above(target, *name);
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
      fs::remove(*folder, ignored);  // empty ones
  }
}

// A process that is killed in here leaves files of one run only, and without result.json (see in_order_of_arrival).
void publish(const fs::path& hidden, const fs::path& target, ForeignFiles foreign) {
  const std::set<std::string> names = written_names(hidden), before = names_in(target);
  refuse_foreign(target, names, before, foreign);
  std::set<std::string> either = names;
  either.insert(before.begin(), before.end());
  write_names(target, either);  // whatever happens from here on, all of it is known to be ours
  remove_results(target, before);
  std::error_code failure;
  for (const std::string& name : in_order_of_arrival(names)) {
    fs::create_directories((target / name).parent_path(), failure);
    if (!failure) fs::rename(hidden / name, target / name, failure);
    if (failure) throw cannot_write(target / name, failure.message());
  }
  write_names(target, names);
}

}  // namespace

void check_writable(const fs::path& path) {
  const StopDelay whole;
  const fs::path target = result_target(path);
  std::string name = (target.parent_path() / (std::string(kTemporary) + "XXXXXX")).string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) throw cannot_write(target, std::strerror(errno));
  ::unlink(name.c_str());
  ::close(file);
}

void remove_abandoned_files(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& path : beginning_with(folder.empty() ? "." : folder, kTemporary))
    if (path.filename().string().size() == kTemporaryLength && is_abandoned(path)) fs::remove(path, ignored);
}

void write_folder(const fs::path& target, const std::function<void(const fs::path&)>& write, ForeignFiles foreign) {
  const StopDelay together;
  const MadeFolders folders(target);
  std::error_code failure, ignored;
  fs::create_directories(target, failure);
  if (failure) throw cannot_write(target, failure.message());
  const FolderLock lock(target);
  remove_half_written(target);
  const fs::path hidden = new_hidden_folder(target);
  const AtEnd tidy{[&] { fs::remove_all(hidden, ignored); }};
  try {
    write(hidden);
  } catch (const Error& error) {
    throw Error(error.failure(), Place{}, replaced(error.what(), hidden.string(), target.string()), "");
  }
  publish(hidden, target, foreign);
}

}  // namespace shardsim
