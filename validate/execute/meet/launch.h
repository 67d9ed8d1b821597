#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// Who this process is among the ranks of a run, as its launcher says.
struct Launch {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  // among the ranks of its node
  int local_size = 1;
  std::string master_host = "127.0.0.1";  // where rank 0 listens
  int master_port = 29400;
  std::string launcher{};  // "torchrun", "Open MPI", "Slurm"; "" when nothing was set: this process is alone
  // The ports at which rank 0 listens in turn when master_port is taken; the others look there, too.
  std::vector<int> other_ports{};
  // The launcher's name for the run: ranks of two runs do not join each other. "" where it has no name.
  std::string run{};
  // The secret that the ranks of the run know and strangers do not (meet/secret.h). "": none, which is enough where
  // rank 0 listens at a loopback address.
  std::string secret{};

  bool operator==(const Launch&) const = default;
};

using Environment = std::function<const char*(const char* name)>;  // std::getenv, or a test's own; null: not set

// From RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT; else OMPI_COMM_WORLD_*; else SLURM_*
// (the first host of the node list, a port that follows from the job's number). MASTER_ADDR and MASTER_PORT override
// the others'. The agent of torchrun listens at MASTER_PORT itself where TORCHELASTIC_USE_AGENT_STORE is True, and may
// do so where it is not: then the ranks meet at MASTER_PORT + 1000, or + 2000, or + 3000 (less as much above 65535).
// `port`: instead of all of these. The secret is SHARDSIM_SECRET. Errors (Failure::input, naming the variable): not a
// number, a rank outside the world, several nodes without a master address.
Launch launch_from(const Environment& environment, std::optional<int> port = {});

// Slurm's short forms. Errors (Failure::input at `place`): brackets that do not match, ranges that are none.

// The first of "gpu[01-04,07],x1": gpu01.
std::string first_node(std::string_view text, const Place& place);

// "4(x2),3" -> 4 4 3: tasks on each node.
std::vector<int> expand_tasks_per_node(std::string_view text, const Place& place);

}  // namespace shardsim
