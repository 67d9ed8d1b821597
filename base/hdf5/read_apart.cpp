#include "base/hdf5/read_apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/worker_died.h"
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

}  // namespace

std::string read_apart(const std::filesystem::path& path, const std::function<std::string()>& read) {
  const auto apart = [&] {
    prepare_for_the_worst();
    return read();
  };
  try {
    return run_in_workers({{path.string(), apart}}, {}).front();
  } catch (const WorkerDied& death) {
    if (death.signal == 0 || death.signal == SIGKILL) throw;  // somebody else ended it
    throw input_error(Place{path.string()},
                      fmt::format("the HDF5 library broke down over this file ({})", strsignal(death.signal)),
                      "Write it again, for it is damaged, unless the process may take very little memory");
  }
}

}  // namespace shardsim
