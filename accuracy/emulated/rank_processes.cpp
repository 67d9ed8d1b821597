#include "accuracy/emulated/rank_processes.h"

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
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

// In the child of a rank.
int live_as(int rank, const std::function<int(int rank)>& body) {
  int code = 1;
  try {
    code = body(rank);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: rank %d: %s\n", rank, printable(error.what()).c_str());
  }
  std::fflush(nullptr);
  return code;
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

RankProcesses::RankProcesses(int ranks, const std::function<int(int rank)>& body) {
  for (int rank = 0; rank < ranks; ++rank) {
    processes_.emplace_back([&] { return live_as(rank, body); }, ChildProcess::Interrupts::end_it);
    ++running_;
  }
}

void RankProcesses::collect() {
  for (ChildProcess& process : processes_) {
    const std::optional<int> status = process.ended();
    if (!status) continue;
    --running_;
    if (code_of(*status) == 0 || first_code_ != 0) continue;
    first_code_ = code_of(*status);
    failed_at_ = Clock::now();
  }
}

void RankProcesses::signal_all(int number) const {
  for (const ChildProcess& process : processes_) process.signal(number);
}

void RankProcesses::end_all(double grace_s) {
  const auto start = Clock::now();
  if (grace_s > 0) signal_all(SIGTERM);
  for (; running_ > 0 && seconds_since(start) < grace_s; collect()) std::this_thread::sleep_for(kBetweenLooks);
  signal_all(SIGKILL);
  for (; running_ > 0; collect()) std::this_thread::sleep_for(kBetweenLooks);
}

int RankProcesses::wait(const Patience& patience) {
  for (collect(); running_ > 0; collect()) {
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
