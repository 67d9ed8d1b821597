#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace shardsim {

// The whole file. Errors: Failure::input naming the path (unreadable, a folder, over 2 GiB).
std::string read_file(const std::string& path);

// A result file that appears whole or not at all: written beside under a temporary name, flushed, renamed by commit().
// Destroyed without commit(), the temporary file goes. Errors: Failure::run naming the path and the cause.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);  // makes missing parent folders
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }  // for libraries that write by name
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
};

void write_file(const std::filesystem::path& path, std::string_view text);

// Folders that hold the shipped scenarios and the report's assets: beside the executable's build tree or installed.
std::filesystem::path data_folder();

}  // namespace shardsim
