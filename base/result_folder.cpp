#include "base/result_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/at_end.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder_record.h"
#include "base/read_files.h"
#include "base/result_stream.h"
#include "base/stop_signals.h"
#include "base/text.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kHidden = ".shardsim-run-";  // and six characters
constexpr std::string_view kTemporary = ".shardsim-";   // likewise: as write_file names them
constexpr std::size_t kRandom = 6;
constexpr auto kShortWait = 1s, kLongWait = 60s;  // for another writer, by whether it is one of many on purpose

// A folder as the system takes it: the empty path is the current one.
fs::path opened_as(const fs::path& folder) {
  return folder.empty() ? "." : folder;
}

// Another process has removed a folder that both had made: it wrote nothing there after all.
struct Vanished {};
constexpr int kMostVanished = 1000;

// Makes the folder and does in it what `attempt` does, again where it vanishes meanwhile. `shown`: what cannot be
// written where it always does.
void make_folder_for(const fs::path& folder, const fs::path& shown, const std::function<void()>& attempt) {
  for (int times = 0; times < kMostVanished; ++times) {
    std::error_code failure;
    fs::create_directories(opened_as(folder), failure);
    if (failure && failure.value() != ENOENT) throw cannot_write(folder, failure.message());
    try {
      if (!failure) return attempt();
    } catch (const Vanished&) {
    }
  }
  throw cannot_write(shown, std::strerror(ENOENT));
}

// One writer at a time. The lock is on the folder itself and goes with the process that holds it, so none is ever
// stale. Where a file system has no locks, nobody is kept out.
class WriterLock {
 public:
  // Waits as long as `patience` for another one.
  WriterLock(const fs::path& folder, std::chrono::milliseconds patience)
      : folder_(::open(opened_as(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0 && errno == ENOENT) throw Vanished{};
    if (folder_ < 0) throw cannot_write(folder, std::strerror(errno));
    const auto last = std::chrono::steady_clock::now() + patience;
    while (::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      if (std::chrono::steady_clock::now() >= last) refuse(folder);
      std::this_thread::sleep_for(5ms);
    }
    if (is_at(folder)) return;
    ::close(folder_);
    throw Vanished{};
  }
  ~WriterLock() { ::close(folder_); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  // True when the locked folder is still the one at this path: another process may have removed it, and a third one
  // created it anew.
  bool is_at(const fs::path& folder) const {
    struct stat own {
    }, named{};
    return ::fstat(folder_, &own) == 0 && ::stat(opened_as(folder).c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  }
  [[noreturn]] void refuse(const fs::path& folder) const {
    ::close(folder_);
    throw run_error(opened_as(folder).string() + ": another run is writing its results there now",
                    "Wait for its end, or choose another folder with -o");
  }

  int folder_;
};

// `shown`: what cannot be written where no folder can be made.
fs::path new_hidden_folder(const fs::path& target, const fs::path& shown) {
  std::string name = (target / kHidden).string() + std::string(kRandom, 'X');
  const bool made = ::mkdtemp(name.data()) != nullptr;
  if (!made && errno == ENOENT) throw Vanished{};
  if (!made) throw cannot_write(shown, std::strerror(errno));
  return name;
}

// Names in a folder that begin so and have six characters more.
std::vector<fs::path> temporaries(const fs::path& folder, std::string_view start) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(opened_as(folder), ignored), end; !ignored && at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(start) && name.size() == start.size() + kRandom) found.push_back(folder / name);
  }
  return found;
}

void remove_half_written(const fs::path& target) {
  std::error_code ignored;
  for (const fs::path& folder : temporaries(target, kHidden)) fs::remove_all(folder, ignored);
  remove_abandoned_files(target);
}

// True when the writer of a temporary file of write_file has ended: a living one would hold a lock on it.
bool is_abandoned(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(fs::symlink_status(path, failure))) return false;
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  const bool unlocked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return unlocked;
}

std::vector<std::string> written_names(const fs::path& hidden) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(hidden))
    if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(hidden).string());
  return {names.begin(), names.end()};
}

// Files that other programs read (result.json, drift.json, sweep.csv) are moved last, so that whoever sees them sees
// everything.
std::vector<std::string> in_order_of_arrival(std::vector<std::string> names) {
  const auto turn = [](const std::string& name) {
    const fs::path path(name);
    if (path.has_parent_path()) return 0;
    return path.extension() == ".json" ? 3 : path.extension() == ".csv" ? 2 : 1;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return turn(a) < turn(b); });
  return names;
}

void remove_results(const fs::path& target, const std::vector<std::string>& names) {
  const std::vector<std::string> arrived = in_order_of_arrival(names);
  std::error_code ignored;
  for (auto name = arrived.rbegin(); name != arrived.rend(); ++name) {
    if (!is_own_file(target, *name)) continue;
    fs::remove(target / *name, ignored);
    std::vector<fs::path> folders = folders_above(target, *name);
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
      fs::remove(*folder, ignored);  // empty ones
  }
}

// The ways in which the files of a run join those that are in a folder.
enum class Joining { replaces_earlier_run, adds };

// Moves what was written into the hidden folder to its place in the target.
class Publication {
 public:
  Publication(const fs::path& hidden, const fs::path& target, const ResultWriter& writer, Joining joining)
      : hidden_(hidden), target_(target), writer_(writer), joining_(joining), names_(written_names(hidden)) {
    if (joining == Joining::replaces_earlier_run) before_ = record_.names_of(writer.command);
  }

  // Everything that can be refused is refused before the first file moves.
  void refuse_conflicts() const {
    refuse_odd_record(target_);
    const WritePermission permission(target_, record_, writer_);
    for (const std::string& name : names_) permission.refuse_taken(name);
    for (const std::string& name : before_) permission.refuse_loss(name);
  }

  // A process that is killed in here leaves files of one run only, and without result.json (see in_order_of_arrival).
  void move() {
    FolderRecord after = record_;
    for (const std::string& name : before_) after.forget(name);
    for (const std::string& name : names_) after.forget(name);
    for (const std::string& name : names_) {
      const std::string digest = file_digest(hidden_ / name);
      record_.add(writer_.command, name, digest);
      after.add(writer_.command, name, digest);
    }
    save(record_);  // whatever happens from here on, all of it is known to be ours
    remove_results(target_, before_);
    for (const std::string& name : in_order_of_arrival(names_)) move(name);
    after.forget_missing();
    save(after);
  }

 private:
  void move(const std::string& name) const {
    std::error_code failure;
    if (const fs::path parent = (target_ / name).parent_path(); !parent.empty())
      fs::create_directories(parent, failure);
    if (!failure) fs::rename(hidden_ / name, target_ / name, failure);
    if (failure) throw cannot_write(target_ / name, failure.message());
  }

  // A file that the user has named may lie where no record can be kept, in another user's folder, say. Without one it
  // is nobody's, which only means that the next command asks for --force.
  void save(const FolderRecord& record) const {
    try {
      record.save();
    } catch (const Error&) {
      if (joining_ == Joining::replaces_earlier_run) throw;
    }
  }

  const fs::path& hidden_;
  const fs::path& target_;
  const ResultWriter& writer_;
  const Joining joining_;
  FolderRecord record_{target_};
  const std::vector<std::string> names_;
  std::vector<std::string> before_;  // of the earlier run of the same command
};

// An Error about the hidden folder, as one about the target.
Error told_of(const fs::path& target, const Error& error, const fs::path& hidden) {
  const std::string shown = target.empty() ? "" : (target / "").string();
  const std::string text = replaced(error.what(), (hidden / "").string(), shown);
  return Error(error.failure(), Place{}, replaced(text, hidden.string(), opened_as(target).string()), "");
}

void fill(const fs::path& target, const fs::path& shown, const ResultWriter& writer, Joining joining,
          const std::function<void(const fs::path&)>& write) {
  const StopDelay together;
  const MadeFolders folders(target);
  std::optional<WriterLock> lock;
  fs::path hidden;
  make_folder_for(target, shown, [&] {
    lock.reset();
    lock.emplace(target, joining == Joining::adds ? kLongWait : kShortWait);
    remove_half_written(target);
    hidden = new_hidden_folder(target, shown);
  });
  std::error_code ignored;
  const AtEnd tidy{[&] { fs::remove_all(hidden, ignored); }};
  try {
    write(hidden);
  } catch (const Error& error) {
    throw told_of(target, error, hidden);
  }
  Publication publication(hidden, target, writer, joining);
  publication.refuse_conflicts();
  publication.move();
}

// Where the file that the user named goes.
fs::path named_target(const fs::path& path) {
  fs::path target = result_target(path);
  if (target.filename() != FolderRecord::kFile) return target;
  throw input_error({target.string()}, "this is where shardsim notes which results are its own",
                    "Choose another name with -o");
}

// Creates and removes a new folder in `folder`, and `folder` itself where it is missing. Errors: that cannot be done.
void try_writing(const fs::path& folder, const fs::path& shown) {
  const MadeFolders folders(folder);
  make_folder_for(folder, shown, [&] {
    std::error_code ignored;
    fs::remove(new_hidden_folder(folder, shown), ignored);
  });
}

// Does what `check` does, and once more where it refuses, with nobody else writing: a run that ended meanwhile may have
// replaced a file whose record was read before.
void check_in_peace(const fs::path& folder, const std::function<void()>& check) {
  try {
    return check();
  } catch (const Error&) {
  }
  std::optional<WriterLock> lock;
  try {
    lock.emplace(folder, kShortWait);
  } catch (const Vanished&) {  // with what was in the way
  }
  check();
}

}  // namespace

void remove_abandoned_files(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::path& path : temporaries(folder, kTemporary))
    if (is_abandoned(path)) fs::remove(path, ignored);
}

void write_folder(const fs::path& target, const ResultWriter& writer,
                  const std::function<void(const fs::path&)>& write) {
  fill(target, target, writer, Joining::replaces_earlier_run, write);
}

void add_to_folder(const fs::path& target, const ResultWriter& writer,
                   const std::function<void(const fs::path&)>& write) {
  fill(target, target, writer, Joining::adds, write);
}

void write_result(const fs::path& path, const ResultWriter& writer, const std::function<void(const fs::path&)>& write) {
  if (is_stream(path)) return write_stream(path, write);
  const MadeFolders folders(path.parent_path());
  const fs::path target = named_target(path);
  fill(target.parent_path(), target, writer, Joining::adds,
       [&](const fs::path& hidden) { write(hidden / target.filename()); });
}

void write_result(const fs::path& path, const ResultWriter& writer, std::string_view text) {
  write_result(path, writer, [&](const fs::path& hidden) { write_file(hidden, text); });
}

void check_results(const fs::path& target, const ResultWriter& writer, const std::vector<std::string>& names) {
  const StopDelay whole;
  try_writing(target, target);
  refuse_odd_record(target);
  check_in_peace(target, [&] {
    const FolderRecord record(target);
    const WritePermission permission(target, record, writer);
    for (const std::string& name : names) permission.refuse_taken(name);
    for (const std::string& name : record.names_of(writer.command)) permission.refuse_loss(name);
  });
}

void check_result(const fs::path& path, const ResultWriter& writer) {
  if (is_stream(path)) return;
  const StopDelay whole;
  const MadeFolders folders(path.parent_path());
  const fs::path target = named_target(path);
  try_writing(target.parent_path(), target);
  refuse_odd_record(target.parent_path());
  check_in_peace(target.parent_path(), [&] {
    const FolderRecord record(target.parent_path());
    WritePermission(target.parent_path(), record, writer).refuse_taken(target.filename().string());
  });
}

}  // namespace shardsim
