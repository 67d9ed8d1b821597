#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace shardsim {

// Result files of one run that appear together or not at all: they are written into a hidden folder inside the target,
// and commit() renames them into place, over those of an earlier run. Destroyed without commit(), the hidden folder
// goes, and what lay in the target is as it was. Errors: Failure::run naming the target's path and the cause.
class StagedFolder {
 public:
  explicit StagedFolder(std::filesystem::path target);  // makes the target and missing parents
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  // Calls `write` with the hidden folder; an Error that names it comes out naming the target.
  void fill(const std::function<void(const std::filesystem::path&)>& write) const;
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path hidden_;
  bool made_target_ = false;
};

}  // namespace shardsim
