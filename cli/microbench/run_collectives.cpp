#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/microbench/kept.h"
#include "cli/microbench/request.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/meet/rendezvous.h"
#include "validate/execute/meet/secret.h"
#include "validate/execute/meet/tcp.h"
#include "validate/execute/run/execute.h"
#include "validate/microbench/collective_rows.h"
#include "validate/microbench/nccl_log.h"

extern char** environ;  // POSIX has it in no header
namespace shardsim {
namespace {

constexpr double kLongest = 120;     // seconds of the untimed pass, after which it is ended
constexpr double kBetween = 0.02;    // seconds between two looks at it
constexpr const char* kJoin = "60";  // seconds that its ranks wait for each other

// A folder of this process alone, gone with its owner; "" where none can be made.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code missing;
    std::string name = (std::filesystem::temp_directory_path(missing) / "shardsim-XXXXXX").string();
    if (!missing && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A port that is free at this rank's address now; "" where there is none.
std::string free_port(const std::string& address) {
  try {
    return std::to_string(local_address(listen_on({address, 0})).port);
  } catch (const std::system_error&) {
    return "";
  }
}

std::vector<std::string> words(const Request& request, const std::string& port, const std::string& folder) {
  std::vector<std::string> words{"shardsim-microbench",
                                 "--device",
                                 std::string(request.device->name),
                                 "--collectives",
                                 "--untimed",
                                 "--port",
                                 port,
                                 "--join-limit",
                                 kJoin,
                                 "--output",
                                 folder + "/no.txt",
                                 "--quiet"};
  if (request.quick) words.emplace_back("--quick");
  if (!request.secret_file.empty()) words.insert(words.end(), {"--secret-file", request.secret_file});
  return words;
}

// This process's variables, but for those of NCCL's log; `log`: where it goes, "" without one.
std::vector<std::string> variables(const std::string& log) {
  std::vector<std::string> result;
  for (char** each = environ; *each != nullptr; ++each)
    if (!std::string_view(*each).starts_with("NCCL_DEBUG")) result.emplace_back(*each);
  if (!log.empty())
    result.insert(result.end(), {"NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,TUNING", "NCCL_DEBUG_FILE=" + log});
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// This program once more, without a word on the terminal; 0 where it cannot be started.
pid_t start(std::vector<std::string> words, std::vector<std::string> variables) {
  posix_spawn_file_actions_t silent;
  if (posix_spawn_file_actions_init(&silent) != 0) return 0;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&silent, stream, "/dev/null", O_RDWR, 0);
  pid_t process = 0;
  const int code =
      posix_spawn(&process, "/proc/self/exe", &silent, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&silent);
  return code == 0 ? process : 0;
}

// Until it has ended, or has to: when it takes too long, the run of those that wait for it has failed, or the user
// stops this process.
void wait_for(pid_t process, const Rendezvous& rendezvous) {
  const double deadline = monotonic_seconds() + kLongest;
  while (waitpid(process, nullptr, WNOHANG) == 0) {
    if (monotonic_seconds() > deadline || !rendezvous.failure().empty() || caught_signal() != 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
      return;
    }
    sleep_until(monotonic_seconds() + kBetween);
  }
}

// `folder`: of this process alone; "" where none could be made.
NcclLog logged_pass(Rendezvous& rendezvous, const Request& request, const std::string& folder) {
  const bool root = rendezvous.rank() == 0;
  const std::string log = root ? folder + "/nccl.log" : "";
  const std::string chosen = root && !folder.empty() ? free_port(rendezvous.address()) : "";
  const std::string port = rendezvous.from_root(chosen, "choosing a port for the untimed pass");
  if (!port.empty()) {
    const pid_t process = start(words(request, port, folder), variables(log));
    if (process > 0) wait_for(process, rendezvous);
  }
  return root && is_file(log) ? read_nccl_log(read_file(log)) : NcclLog{};
}

// Returns NCCL's log of its choices when every call of the sweep is made once, before anything is timed. NCCL reads the
// variables of its log once in a process, and then writes a line for every call: in the process that measures, these
// lines would be timed with the calls. So every rank starts this program anew, with --untimed, and rank 0's log is
// read. Collective; everything is unknown where a rank cannot start it or NCCL fails in it. Errors (Failure::run): the
// run fails meanwhile.
NcclLog untimed_pass(Rendezvous& rendezvous, const Request& request) {
  NcclLog choices;
  {
    const StopDelay in_order;  // the folder and the process that was started go before this one does
    const PrivateFolder folder;
    choices = logged_pass(rendezvous, request, folder.path());
  }
  rendezvous.barrier("the untimed pass");
  return choices;
}

// To be called in the program that is started so: it ends with the one that started it.
void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// Measures what the rows lack, and writes them with what stands above them once all are there; what was printed.
std::string swept(Rendezvous& rendezvous, const Request& request, const ExecuteOptions& options, CollectiveRows& rows) {
  const std::vector<std::int64_t> sizes = collective_sizes(request.quick);
  const bool has_log = request.device->collectives_once != nullptr;
  const NcclLog choices = has_log ? untimed_pass(rendezvous, request) : NcclLog{};
  const auto bench = request.device->collectives != nullptr ? request.device->collectives : bench_collectives;
  std::string text = has_log ? nccl_choices_text(choices, sizes) : "";
  text += bench(rendezvous, options, sizes, rows);
  if (rendezvous.rank() != 0) return "";
  text += rows.text();
  const StopDelay together;
  write_result(request.output, request.writer, text);
  rows.remove();
  say_when_stopped("error: stopped; all was measured and is written.\n");
  return text;
}

}  // namespace

int run_collectives(const Request& request) {
  Launch launch = launch_from([](const char* name) { return std::getenv(name); }, request.port);
  if (!request.secret_file.empty()) launch.secret = secret_of_file(request.secret_file);
  if (launch.world_size < 2)
    throw input_error(Arguments::place("collectives"), "there is only one rank",
                      "Start several: torchrun, mpirun, srun, or shardsim emulate -- shardsim-microbench ...");
  ExecuteOptions options;
  options.device = request.device->name;
  options.warmup = 2;
  options.iterations = request.quick ? 5 : 20;
  options.apart = true;
  if (launch.rank == 0 && !request.untimed) check_result(request.output, request.writer);
  allow_descriptors(socket_descriptors(launch.world_size, 1, launch.rank == 0, 1));
  const auto rendezvous = Rendezvous::join(launch, request.join_limit);
  options.give_up = [](const std::string& why) { std::_Exit(report_error(1, why + ".")); };
  if (request.untimed) {
    end_with_parent();
    request.device->collectives_once(*rendezvous, options, collective_sizes(request.quick));
    rendezvous->leave();
    return 0;
  }
  CollectiveRows rows(request.output, request.quick ? "quick sweep" : "whole sweep", say_where_kept);
  options.give_up = [&rows](const std::string& why) {
    std::_Exit(report_error(1, with_where_kept(run_error(why, ""), rows.journal()).what()));
  };
  const std::string text =
      kept_once_open([&rows] { return rows.journal(); }, [&] { return swept(*rendezvous, request, options, rows); });
  rendezvous->leave();
  if (launch.rank == 0) print_lines(fmt::format("{}wrote {}\n", text, request.output));
  return 0;
}

}  // namespace shardsim
