#include "base/hdf5/read_apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/read_files.h"
#include "base/workers.h"

namespace shardsim {
namespace {

constexpr unsigned kReadSeconds = 120;

// In the reading process: it ends in time, and a crash is a crash, whatever handlers it took over, without words of the
// C library's on the user's stderr.
void prepare_for_the_worst() {
  ::alarm(kReadSeconds);
  for (int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) ::signal(crash, SIG_DFL);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
}

// The library crashes over memory that it does not get, too, and over good files then.
Error broke_down(const std::string& file, int signal) {
  const std::string how = fmt::format("the HDF5 library broke down over this file ({})", strsignal(signal));
  if ((signal == SIGSEGV || signal == SIGABRT) && memory_is_limited())
    return {Failure::run, Place{file}, "the process may have too little memory: " + how,
            "Give it more memory (ulimit -v). Where that does not help, the file is damaged: write it again"};
  return input_error(Place{file}, how, "Write it again, for it is damaged");
}

}  // namespace

std::string read_apart(const std::filesystem::path& path, const std::function<std::string()>& read) {
  const auto apart = [&] {
    prepare_for_the_worst();
    return read();
  };
  note_read(path);  // the worker's own note ends with it
  try {
    return run_in_workers({{path.string(), apart}}, {}).front();
  } catch (const WorkerDied& death) {
    if (death.signal == 0 || death.signal == SIGKILL) throw;  // somebody else ended it
    throw broke_down(path.string(), death.signal);
  }
}

}  // namespace shardsim
