#include "accuracy/emulated/rank_processes.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/stop_signals.h"
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

TemporaryFolder::TemporaryFolder(const std::string& parent) {
  std::error_code missing;
  const std::filesystem::path place =
      parent.empty() ? std::filesystem::temp_directory_path(missing) : std::filesystem::path(parent);
  std::string name = (place / "shardsim-XXXXXX").string();
  if (missing || ::mkdtemp(name.data()) == nullptr)
    throw run_error("cannot make a folder in " + (missing ? "TMPDIR" : place.string()),
                    "Point TMPDIR at a folder that can be written");
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TemporaryFolder::put(const std::string& name, std::string_view text) const {
  std::ofstream file(path(name), std::ios::binary);
  if (!(file << text << std::flush)) throw cannot_write(path(name), "no more of it fits");
}

std::string TemporaryFolder::text(const std::string& name) const {
  return is_file(path(name)) ? read_file(path(name).string()) : "";
}

namespace {

// As std::system, which would ignore SIGINT meanwhile: a Ctrl-C that comes as the shell ends would be lost.
int shell_status(const std::string& line) {
  const char* const words[] = {"sh", "-c", line.c_str(), nullptr};
  pid_t process = 0;
  const int fault = ::posix_spawn(&process, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(words), environ);
  if (fault != 0) return -1;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

}  // namespace

ProgramOutput run_program(const std::string& command, const std::string& input) {
  const TemporaryFolder files(kSharedMemory);
  files.put("in", input);
  const std::string line =
      fmt::format("PATH=\"${{PATH:-/usr/bin:/bin}}:/usr/sbin:/sbin\"; cd {} && {{ {}\n}} <in >out 2>err",
                  files.path("").string(), command);
  const bool is_stopped = caught_signal() != 0;
  const int status = shell_status(line);
  if (status < 0) throw run_error("cannot start " + command, "");
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  // Ctrl-C reaches the programs that this one has started, too. A program that ended by it has not failed.
  if (caught_signal() != 0 && (!is_stopped || code > 128)) throw Interrupted{};
  return {code, files.text("out"), files.text("err")};
}

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
