#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "accuracy/emulated/rank_processes.h"
#include "base/error.h"
#include "base/files.h"
#include "base/stop_signals.h"
#include "base/workers.h"

namespace shardsim {

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

}  // namespace shardsim
