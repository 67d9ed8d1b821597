#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "accuracy/emulated/emulated_cluster.h"
#include "base/stop_signals.h"
#include "base/units.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/process.h"
#include "cli/commands/all.h"

namespace shardsim {
namespace {

// As shells have it: 127 for a command that is not there, 126 for one that cannot be run. Rank 0 speaks for all.
int become(std::vector<std::string> command, int rank) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  ::signal(SIGXFSZ, SIG_DFL);  // main ignores it, and a program keeps what is ignored
  ::execvp(words[0], words.data());
  const int why = errno;
  if (rank == 0) say(fmt::format("error: {}: {}. Check the command after --.", words[0], std::strerror(why)));
  return why == ENOENT ? 127 : 126;
}

int count_of(const Arguments& given, const std::string& name) {
  return static_cast<int>(*given.count(name, 1, kMostEmulatedRanks));
}

Bandwidth rate_of(const Arguments& given, const std::string& name) {
  return parse_bandwidth(given.text(name), Arguments::place(name));
}

EmulatedShape emulated_shape(const Arguments& given) {
  EmulatedShape shape;
  shape.ranks.nodes = count_of(given, "nodes");
  shape.ranks.ranks_per_node = count_of(given, "gpus-per-node");
  shape.fast = rate_of(given, "fast");
  shape.nic = rate_of(given, "nic");
  check_shape(shape);
  return shape;
}

std::optional<int> straggler_of(const Arguments& given, const EmulatedShape& shape) {
  const auto rank = given.count("straggler", 0, shape.ranks.world_size() - 1);
  return rank ? std::optional(static_cast<int>(*rank)) : std::nullopt;
}

int emulate(const Arguments& given, const Terminal& terminal) {
  const EmulatedShape shape = emulated_shape(given);
  const StopDelay in_order;  // namespaces and ranks go before the program does
  EmulatedCluster cluster(shape);
  if (const auto straggler = straggler_of(given, shape)) cluster.set_nic_rate(*straggler, 0.5 * shape.nic);
  return cluster.run_ranks([&](int rank) { return become(given.rest(), rank); }, terminal.interrupted);
}

}  // namespace

Command emulate_command() {
  return {
      .name = "shardsim emulate",
      .summary = "run a command once per rank on an emulated cluster, made of network namespaces with limited rates",
      .options = {{"nodes", 0, "N", "The number of nodes.", "2"},
                  {"gpus-per-node", 0, "M", "The number of ranks of each node.", "4"},
                  {"fast", 0, "RATE", "The rate of a rank's link inside its node.", "240Mbit"},
                  {"nic", 0, "RATE", "The rate of a rank's NIC.", "20Mbit"},
                  {"straggler", 0, "RANK",
                   "Give the NIC of this rank half the rate. Without this option all NICs are equal."}},
      .rest = "COMMAND [ARGUMENT...]",
      .notes =
          "The variables RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set as by "
          "torchrun.\n"
          "Rank r has the address 10.2.0.(r+1). The command needs Linux with iproute2, and either root or user "
          "namespaces.\n"
          "It leaves nothing behind when it ends. Its exit code is that of the first rank that failed (128 + N if "
          "signal N\n"
          "ended that rank), or 1 if the cluster cannot be set up. Rates of --fast that add up to more than 2 Gbit/s "
          "are\n"
          "only reached on idle processors.",
      .examples = {"shardsim emulate --nodes 2 --gpus-per-node 4 -- sh -c 'echo rank $RANK of $WORLD_SIZE'",
                   "shardsim emulate --nodes 2 --gpus-per-node 2 --nic 10Mbit --straggler 1 -- ip -brief address"},
      .run = emulate};
}

}  // namespace shardsim
