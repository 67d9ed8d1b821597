#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace shardsim {

struct ResultWriter;  // base/result_folder.h

// Which commands wrote which files of a folder, and what they wrote: the file `.shardsim-files` there. So a later
// command knows what it may replace: what it wrote itself and nobody has changed since. The first line is
// "shardsim files/2"; then each file has a line of its digest, the command and the name below the folder, separated by
// tabs.
class FolderRecord {
 public:
  static constexpr const char* kFile = ".shardsim-files";

  // Reads the folder's record; it is empty when there is none that this version can read. Names that lead out of the
  // folder are left out. An empty path is the current folder.
  explicit FolderRecord(std::filesystem::path folder);

  std::vector<std::string> names_of(const std::string& command) const;
  // Who wrote a file of this name and digest; "" for nobody that is known. With an empty digest: whatever it held.
  std::string writer_of(const std::string& name, const std::string& digest) const;
  bool has(const std::string& command, const std::string& name, const std::string& digest) const;
  bool has(const std::string& command, const std::string& name) const;

  void add(const std::string& command, const std::string& name, const std::string& digest);
  void forget(const std::string& name);
  void forget_missing();  // files that are not there any more

  // Errors: those of write_file().
  void save() const;

 private:
  struct Entry {
    std::string command, digest;
    auto operator<=>(const Entry&) const = default;
  };

  std::filesystem::path folder_;
  std::multimap<std::string, Entry> entries_;  // by name; several while one file takes the place of another
};

// The size and a hash of what a file holds. Errors: Failure::run naming the file, which cannot be read.
std::string file_digest(const std::filesystem::path& path);

// Errors: what lies where the folder's results are recorded is no file of ours.
void refuse_odd_record(const std::filesystem::path& folder);

// The folders between `target` and a file of its, outermost first.
std::vector<std::filesystem::path> folders_above(const std::filesystem::path& target, const std::string& name);

// True when the folder itself holds a regular file of this name. A link in its place, or above it, leads to a file that
// is not ours.
bool is_own_file(const std::filesystem::path& target, const std::string& name);

// Decides which files of a folder a writer may replace or remove. All that it is given outlives it.
class WritePermission {
 public:
  WritePermission(const std::filesystem::path& target, const FolderRecord& record, const ResultWriter& writer)
      : target_(target), record_(record), writer_(writer) {}

  // Errors: what lies at this name may not be replaced, or nothing may be written there.
  void refuse_taken(const std::string& name) const;
  // Errors: a file of the earlier run, which this one would remove, is not as that run left it.
  void refuse_loss(const std::string& name) const;

 private:
  std::string whose(const std::string& name, const std::string& digest) const;

  const std::filesystem::path& target_;
  const FolderRecord& record_;
  const ResultWriter& writer_;
};

}  // namespace shardsim
