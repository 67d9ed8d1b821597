#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

// Ranks of the CUDA machine as processes, on the stand-in (cuda_on_cpu/README.md).
namespace shardsim::test {

// A folder for NCCL's messages, where the stand-in looks for it, and gone with this.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "cuda_on_cpu_XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw run_error("no temporary folder", "");
    path_ = path;
    const char* const before = std::getenv("TMPDIR");
    before_ = before == nullptr ? "" : before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~Folder() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
    std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string before_;  // TMPDIR
};

constexpr unsigned kPatience = 120;  // seconds for one program: who hangs is killed by SIGALRM

// Runs `body` for every rank in a process of its own, on nodes of `per_node` ranks as NCCL sees them; waitpid's status
// of each.
inline std::vector<int> in_processes(int ranks, int per_node, const std::function<int(int rank)>& body) {
  std::fflush(stdout);
  std::vector<pid_t> ids;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t id = fork();
    if (id == 0) {
      alarm(kPatience);
      setenv("NCCL_HOSTID", ("node" + std::to_string(rank / per_node)).c_str(), 1);
      const int code = body(rank);
      std::fflush(stdout);
      _exit(code);
    }
    ids.push_back(id);
  }
  std::vector<int> statuses;
  for (const pid_t id : ids) {
    int& status = statuses.emplace_back(-1);
    waitpid(id, &status, 0);
  }
  return statuses;
}

}  // namespace shardsim::test
