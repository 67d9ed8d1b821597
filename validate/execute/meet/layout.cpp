#include "validate/execute/meet/layout.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

#include "base/error.h"
#include "validate/execute/meet/failure_cause.h"

namespace shardsim {
namespace {

using RanksOf = std::map<std::string, std::vector<int>>;  // [node]

void check_counts(const std::vector<RankSeat>& seats, const RanksOf& nodes, std::size_t wanted) {
  for (const auto& [node, ranks] : nodes) {
    if (ranks.size() == wanted) continue;
    throw input_error({},
                      fmt::format("{} has {} of the ranks ({}), and the program has {} on a node",
                                  seats[ranks.front()].host, ranks.size(), rank_list(ranks), wanted),
                      fmt::format("Start {} on each node (srun --ntasks-per-node, torchrun --nproc-per-node), or lower "
                                  "the case for the nodes that you have",
                                  wanted));
  }
}

// All nodes have the right number of ranks, so ranks out of place have changed places.
void check_order(const std::vector<RankSeat>& seats, std::size_t per_node) {
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    const std::size_t first = rank / per_node * per_node;
    if (seats[rank].node == seats[first].node) continue;
    throw input_error({},
                      fmt::format("rank {} runs on {}, and rank {} of the same node of the program on {}", rank,
                                  seats[rank].host, first, seats[first].host),
                      "Start the ranks of a node one after the other: srun --distribution=block, mpirun --map-by "
                      "ppr:N:node");
  }
}

void check_gpus(const std::vector<RankSeat>& seats) {
  std::map<std::pair<std::string, std::string>, int>
      users;  // by node, too: some virtual GPUs have no UUID of their own
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    const auto [user, is_new] = users.try_emplace({seats[rank].node, seats[rank].gpu}, static_cast<int>(rank));
    if (is_new || seats[rank].gpu.empty()) continue;
    throw input_error(
        {},
        fmt::format("ranks {} and {} use the same GPU, {} of {}", user->second, rank, seats[rank].gpu,
                    seats[rank].host),
        "Let every rank see all GPUs of its node, or one of its own (srun --gpus-per-task=1); ranks share "
        "a GPU only with NCCL_MULTI_RANK_GPU_ENABLE=1");
  }
}

}  // namespace

std::string node_identity() {
  const char* const told = std::getenv("NCCL_HOSTID");
  if (told != nullptr && *told != '\0') return told;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void check_layout(const std::vector<RankSeat>& seats, int ranks_per_node, bool gpus_shared) {
  const auto per_node = static_cast<std::size_t>(std::max(ranks_per_node, 1));
  RanksOf nodes;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) nodes[seats[rank].node].push_back(static_cast<int>(rank));
  if (seats.size() % per_node == 0) check_counts(seats, nodes, per_node);
  check_order(seats, per_node);
  if (!gpus_shared) check_gpus(seats);
}

}  // namespace shardsim
