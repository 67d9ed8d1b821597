#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace shardsim {

// An empty folder of this process and `purpose`, which goes with its contents when the test ends.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& purpose)
      : path_(std::filesystem::temp_directory_path() / ("shardsim_" + purpose + "_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  bool empty() const { return std::filesystem::is_empty(path_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace shardsim
