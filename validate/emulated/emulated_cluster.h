#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "validate/emulated/emulated_shape.h"
#include "validate/emulated/name_spaces.h"

namespace shardsim {

// Why this process may not build an emulated cluster here, in words for the user; "" when it may. Tries it in a process
// of its own.
std::string emulation_obstacle();

// Real network name spaces with shaped links, joined by bridges like a cluster of nodes with a fast switch inside and
// a NIC per rank. It is built in the calling process (PrivateNameSpaces says what that means) and gone with it.
class EmulatedCluster {
 public:
  // Builds it and checks that rates, bursts and routes are what was asked for. Errors: Failure::input of check_shape;
  // Failure::run naming the step that failed.
  explicit EmulatedCluster(const EmulatedShape& shape);

  const EmulatedShape& shape() const { return shape_; }

  // Live, at both ends; connections stay. Errors: Failure::run.
  void set_nic_rate(int rank, Bandwidth rate);

  struct Limits {
    double settle_s = 10;                    // once one rank has failed the others end by themselves ...
    double end_s = 2;                        // ... or get SIGTERM, and after this time SIGKILL
    std::function<bool()> interrupted = {};  // asked ten times a second; Interrupted is thrown when it says so
  };
  // Runs `body` in a process per rank, inside its name space, with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
  // MASTER_ADDR and MASTER_PORT set as torchrun does; its result is the process's exit code. Returns when all have
  // ended: 0, or the code of the first that failed (128 + N when signal N ended it).
  int run_ranks(const std::function<int(int rank)>& body, const Limits& limits);

 private:
  void build();
  void verify() const;

  EmulatedShape shape_;
  PrivateNameSpaces private_;
  std::vector<NetworkNameSpace> ranks_;
};

}  // namespace shardsim
