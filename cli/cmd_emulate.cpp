#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/emulated_arguments.h"
#include "validate/emulated/emulated_cluster.h"

namespace shardsim {
namespace {

constexpr const char* kEmulateUsage = "shardsim emulate --nodes 2 --gpus-per-node 4 [options] -- COMMAND [ARGUMENT...]";

// As shells have it: 127 for a command that is not there, 126 for one that cannot be run. Rank 0 speaks for all.
int become(std::vector<std::string> command, int rank) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::signal(SIGXFSZ, SIG_DFL);  // main ignores it, and a program keeps what is ignored
  ::execvp(words[0], words.data());
  const int why = errno;
  if (rank == 0) std::fprintf(stderr, "error: %s: %s. Check the command after --.\n", words[0], std::strerror(why));
  return why == ENOENT ? 127 : 126;
}

}  // namespace

int emulate_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments given({arguments.begin(), dashes}, emulated_options(), 0, 0, kEmulateUsage);
  const EmulatedShape shape = emulated_shape(given);
  if (dashes == arguments.end() || std::next(dashes) == arguments.end()) {
    throw input_error({"arguments"}, "no command is given", fmt::format("Usage: {}", kEmulateUsage));
  }
  const std::vector<std::string> command(std::next(dashes), arguments.end());
  EmulatedCluster cluster(shape);
  if (const auto straggler = straggler_of(given, shape)) cluster.set_nic_rate(*straggler, 0.5 * shape.nic);
  EmulatedCluster::Limits limits;
  limits.interrupted = terminal.interrupted;
  return cluster.run_ranks([&](int rank) { return become(command, rank); }, limits);
}

}  // namespace shardsim
