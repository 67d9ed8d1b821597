#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/emulated/campaign.h"
#include "base/child_process.h"

namespace shardsim {

// An emulated cluster has one of its own: what is left there is gone with the cluster.
inline constexpr const char* kSharedMemory = "/dev/shm";

// A folder in another one, that for temporary files where it is ""; gone with its owner, and with all that is in it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent = "");  // errors: Failure::run
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  void put(const std::string& name, std::string_view text) const;  // errors: Failure::run
  std::string text(const std::string& name) const;                 // of a file that is not there: ""

 private:
  std::filesystem::path folder_;
};

// The output of a program that was run to its end.
struct ProgramOutput {
  int code = 0;  // 128 + N when signal N ended it, 127 when it could not be started
  std::string out, err;
};

// Runs a line of the shell with `input` as its standard input. Programs are searched for in PATH, /usr/sbin and /sbin.
// Errors: Failure::run when no process can be started.
ProgramOutput run_program(const std::string& command, const std::string& input = {});

// One forked process per rank of a run.
class RankProcesses {
 public:
  // Each runs `body` with its rank and ends with the code that it returns; an Error that it throws is printed as one
  // line on stderr, code 1. Errors (Failure::run): a process cannot be started; those that were are killed.
  RankProcesses(int ranks, const std::function<int(int rank)>& body);
  struct Patience {
    double settle_s = 10;  // of the others, after the first failure, before SIGTERM
    double end_s = 2;      // after SIGTERM, before SIGKILL
    std::function<bool()> interrupted = {};
  };
  // Until all have ended. Returns 0, or the code of the first that did not return 0. Throws Interrupted, after it has
  // ended them all, when `interrupted` says so.
  int wait(const Patience& patience);

 private:
  using Clock = std::chrono::steady_clock;
  void collect();
  void signal_all(int number) const;
  void end_all(double grace_s);

  std::vector<ChildProcess> processes_;  // by rank
  int running_ = 0;
  int first_code_ = 0;
  Clock::time_point failed_at_;
};

// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT of this process.
void set_rank_environment(const NodeShape& shape, int rank, const std::string& master);

}  // namespace shardsim
