#include "accuracy/emulated/rank_processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "base/workers.h"

namespace shardsim {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// While it lives SIGINT and SIGTERM wait: a new child must not run this process's handlers.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  ~SignalsHeld() { release(); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  void release() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// A child of this process: no destructors of the parent's objects, no flushing of its streams twice.
[[noreturn]] void live_as(int rank, const std::function<int(int rank)>& body, const SignalsHeld& held) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  held.release();
  int code = 1;
  try {
    code = body(rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", rank, printable(error.what()).c_str());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

RankProcesses::RankProcesses(int ranks, const std::function<int(int rank)>& body) {
  std::fflush(nullptr);
  const SignalsHeld held;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    if (process == 0) live_as(rank, body, held);
    if (process < 0) {
      const std::string why = std::strerror(errno);
      end_all(0);
      throw run_error("cannot start the process of rank " + std::to_string(rank) + ": " + why, "");
    }
    processes_.push_back(process);
    ++running_;
  }
}

RankProcesses::~RankProcesses() {
  if (running_ > 0) end_all(0);
}

void RankProcesses::collect(bool block) {
  for (pid_t& process : processes_) {
    int status = 0;
    if (process == 0) continue;
    const pid_t ended = ::waitpid(process, &status, block ? 0 : WNOHANG);
    if (ended != process) continue;
    process = 0;
    --running_;
    if (code_of(status) == 0 || first_code_ != 0) continue;
    first_code_ = code_of(status);
    failed_at_ = Clock::now();
  }
}

void RankProcesses::signal_all(int number) const {
  for (const pid_t process : processes_) {
    if (process > 0) ::kill(process, number);
  }
}

void RankProcesses::end_all(double grace_s) {
  const auto start = Clock::now();
  if (grace_s > 0) signal_all(SIGTERM);
  for (; running_ > 0 && seconds_since(start) < grace_s; collect(false)) std::this_thread::sleep_for(kBetweenLooks);
  signal_all(SIGKILL);
  while (running_ > 0) collect(true);
}

int RankProcesses::wait(const Patience& patience) {
  for (collect(false); running_ > 0; collect(false)) {
    if (patience.interrupted && patience.interrupted()) {
      end_all(patience.end_s);
      throw Interrupted{};
    }
    if (first_code_ != 0 && seconds_since(failed_at_) > patience.settle_s) end_all(patience.end_s);
    if (running_ > 0) std::this_thread::sleep_for(kBetweenLooks);
  }
  return first_code_;
}

void set_rank_environment(const NodeShape& shape, int rank, const std::string& master) {
  constexpr const char* kPort = "29400";
  const auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(shape.world_size()));
  set("LOCAL_RANK", std::to_string(rank % shape.ranks_per_node));
  set("LOCAL_WORLD_SIZE", std::to_string(shape.ranks_per_node));
  set("MASTER_ADDR", master);
  set("MASTER_PORT", kPort);
}

}  // namespace shardsim
