#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/stop_signals.h"
#include "base/workers.h"
#include "validate/emulated/rank_processes.h"

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

// Ctrl-C reaches the programs that this one has started, too, and std::system keeps it from this one meanwhile. What
// ended by it has not failed.
void throw_if_stopped(int code) {
  if (code == 128 + SIGINT && caught_signal() == 0) ::raise(SIGINT);
  if (code > 128 && caught_signal() != 0) throw Interrupted{};
}

}  // namespace

ProgramOutput run_program(const std::string& command, const std::string& input) {
  const TemporaryFolder files(kSharedMemory);
  files.put("in", input);
  const std::string line =
      fmt::format("PATH=\"${{PATH:-/usr/bin:/bin}}:/usr/sbin:/sbin\"; cd {} && {{ {}\n}} <in >out 2>err",
                  files.path("").string(), command);
  const int status = std::system(line.c_str());
  if (status < 0) throw run_error("cannot start " + command, "");
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  throw_if_stopped(code);
  return {code, files.text("out"), files.text("err")};
}

}  // namespace shardsim
