#include "base/files.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/read_files.h"
#include "base/stop_signals.h"
#include "base/text.h"

#ifndef SHARDSIM_DEFAULT_DATA
#error "SHARDSIM_DEFAULT_DATA, the source tree, is set by base/CMakeLists.txt"
#endif

namespace shardsim {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

constexpr std::size_t kMostBinary = std::size_t{64} << 20;  // read before binary is refused

std::string cause(int error_number) {
  return std::strerror(error_number);
}

// Not std::filesystem's file_size: pipes and devices have none.
std::string read_all(std::FILE* file, const std::string& path, std::size_t most) {
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  std::string text;
  for (std::size_t got = kChunk; got > 0;) {
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    got = std::fread(text.data() + before, 1, kChunk, file);
    text.resize(before + got);
    // Sooner than a device or a large binary fills the memory. Readers of text say where the first bad byte is.
    if (text.size() > kMostBinary && text.find('\0', before) != std::string::npos) {
      throw input_error({path}, "binary, not text", "Is this the right file?");
    }
    if (text.size() > most) {
      throw input_error({path}, "over " + with_thousands(static_cast<std::int64_t>(most)) + " bytes",
                        "Is this the right file?");
    }
  }
  if (std::ferror(file) != 0) throw cannot_read(path, errno);
  return text;
}

bool holds_scenarios(const fs::path& folder) {
  return is_folder(folder / "scenarios" / "clusters");
}

std::optional<fs::path> above_code() {
  for (fs::path folder = code_folder(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (holds_scenarios(folder)) return folder;
    if (holds_scenarios(folder / "share" / "shardsim")) return folder / "share" / "shardsim";
  }
  return std::nullopt;
}

// A new file beside the target whose name nobody can have guessed, and that is no longer than a name may be. It is
// locked, so that what a killed process left behind can be told from what is being written (base/result_folder.h).
File new_temporary(const fs::path& target, fs::path& temporary) {
  std::string name = (target.parent_path() / ".shardsim-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) throw cannot_write(target, cause(errno));
  temporary = name;
  ::flock(descriptor, LOCK_EX | LOCK_NB);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, 0666 & ~mask);
  return File(::fdopen(descriptor, "wb"));
}

// A result that is written whole, beside its target, and has not got its name yet.
class HiddenFile {
 public:
  HiddenFile(const fs::path& path, std::string_view text) : target_(result_target(path)) {
    File file = new_temporary(target_, temporary_);
    lock_ = ::dup(::fileno(file.get()));  // holds until the file has its name
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    const int failure = errno;
    if (!written || std::fclose(file.release()) != 0) {
      const std::string why = cause(written ? errno : failure);
      tidy();  // no destructor runs after a constructor that threw
      throw cannot_write(target_, why);
    }
  }
  ~HiddenFile() { tidy(); }
  HiddenFile(const HiddenFile&) = delete;
  HiddenFile& operator=(const HiddenFile&) = delete;

  void publish() const {
    std::error_code failure;
    fs::rename(temporary_, target_, failure);
    if (failure) throw cannot_write(target_, failure.message());
  }

 private:
  void tidy() const {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
    ::close(lock_);
  }

  const fs::path target_;
  fs::path temporary_;
  int lock_ = -1;
};

}  // namespace

Error cannot_read(const std::string& path, int error_number) {
  const std::string wrong = "cannot read it: " + cause(error_number);
  if (error_number == EMFILE || error_number == ENFILE)
    return {Failure::run, {path}, wrong, "Allow the process more of them (ulimit -n); the file may be good"};
  if (error_number == ENOMEM) return {Failure::run, {path}, wrong, "Allow the process more memory (ulimit -v)"};
  return input_error({path}, wrong, "Check the path and its permissions");
}

Error cannot_write(const fs::path& path, const std::string& why) {
  return run_error(path.string() + ": cannot write it: " + why, "Check the folder, its permissions and free space");
}

MadeFolders::MadeFolders(const fs::path& folder) {
  for (fs::path each = folder; !each.empty() && !is_there(each); each = each.parent_path()) {
    std::error_code failure;
    if (fs::is_symlink(each, failure))  // perhaps to a disk that is not there; it is not ours to remove
      throw run_error(each.string() + ": this link leads nowhere, so nothing can be written there",
                      "Make what it names, or choose another folder with -o");
    made_.push_back(each);
  }
}

MadeFolders::~MadeFolders() {
  std::error_code ignored;
  for (const fs::path& folder : made_) fs::remove(folder, ignored);  // only when empty
}

fs::path result_target(fs::path target) {
  std::error_code failure;
  if (fs::is_symlink(target, failure)) {
    const fs::path followed = fs::weakly_canonical(target, failure);
    if (failure) throw cannot_write(target, failure.message());
    target = followed;
  }
  const fs::file_status status = fs::status(target, failure);
  if (target.filename().empty() || (fs::exists(status) && !fs::is_regular_file(status))) {
    throw run_error(target.string() + ": cannot write it: it is a folder, a pipe or a device", "Name a regular file");
  }
  if (target.parent_path().empty()) return target;
  fs::create_directories(target.parent_path(), failure);
  if (failure) throw cannot_write(target.parent_path(), failure.message());
  return target;
}

bool is_there(const fs::path& path) {
  std::error_code failure;
  return fs::exists(path, failure);
}

bool is_file(const fs::path& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

bool is_folder(const fs::path& path) {
  std::error_code failure;
  return fs::is_directory(path, failure);
}

std::string read_file(const std::string& path, std::size_t most) {
  if (path.empty()) throw input_error({"the name of a file"}, "it is empty", "Name the file to read");
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) throw cannot_read(path, errno);
  note_read(path);
  return read_all(file.get(), path, most);
}

void write_file(const fs::path& path, std::string_view text) {
  const StopDelay whole;
  const MadeFolders folders(path.parent_path());
  HiddenFile(path, text).publish();
}

std::string version() {
  return SHARDSIM_VERSION;
}

fs::path code_folder() {
  Dl_info here{};
  link_map* map = nullptr;
  const bool known =
      ::dladdr1(reinterpret_cast<void*>(&code_folder), &here, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  std::error_code failure;
  // The dynamic linker names libraries alone; the program has no name there.
  if (known && map != nullptr && map->l_name != nullptr && *map->l_name != '\0')
    return fs::absolute(map->l_name, failure).parent_path();
  return fs::read_symlink("/proc/self/exe", failure).parent_path();
}

fs::path data_folder() {
  const char* named = std::getenv("SHARDSIM_DATA");
  if (named != nullptr && *named != '\0') {
    if (holds_scenarios(named)) return named;
    throw input_error({"environment variable SHARDSIM_DATA"},
                      excerpt(named) + (is_folder(named) ? " holds no folder scenarios" : " is no folder"),
                      "Set it to the folder that holds scenarios/, or unset it");
  }
  const fs::path folder = above_code().value_or(SHARDSIM_DEFAULT_DATA);
  if (holds_scenarios(folder)) return folder;
  throw input_error({}, "the files that shardsim ships (scenarios/ and plots/) are not where the program lies",
                    "Set SHARDSIM_DATA to the folder that holds them, or install with `cmake --install`");
}

}  // namespace shardsim
