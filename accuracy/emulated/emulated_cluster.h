#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "accuracy/emulated/emulated_shape.h"

namespace shardsim {

// Puts the calling process and all its later children into network, mount and process-id namespaces of their own (with
// a user namespace, too, where the caller is not root), with an empty /run and /dev/shm. Nothing in them outlives the
// process: when it ends, however it ends, so does every process that was started in them, and with the last of them the
// namespaces. The process can never go back; work that needs the outer world or that forks by itself comes first.
class PrivateNameSpaces {
 public:
  // The caller has one thread. Errors: Failure::run with what the kernel refused.
  PrivateNameSpaces();
  ~PrivateNameSpaces();
  PrivateNameSpaces(const PrivateNameSpaces&) = delete;
  PrivateNameSpaces& operator=(const PrivateNameSpaces&) = delete;

  // For a child of the process, right after fork: lets go of what keeps the namespaces alive.
  void release_in_child();

 private:
  pid_t first_ = 0;  // process 1 of the namespace; when it ends the kernel kills all others there
  int leash_ = -1;   // it ends when this closes
};

// Takes the calling thread into a network namespace that `ip netns add` made, for good. Errors: Failure::run.
void enter_network(const std::string& name);
// The same while `work` runs, which gets the name; when it fails the thread stays there: its cluster is lost.
void inside_network(const std::string& name, const std::function<void(const std::string& name)>& work);

// Returns why this process may not build an emulated cluster here, in words for the user; "" when it may. Tries it in a
// process of its own.
std::string emulation_obstacle();

// Real network namespaces with shaped links, joined by bridges like a cluster of nodes with a fast switch inside and
// a NIC per rank. It is built in the calling process (PrivateNameSpaces says what that means) and gone with it.
class EmulatedCluster {
 public:
  // Builds it and checks that rates, bursts and routes are what was asked for. Errors: Failure::input of check_shape;
  // Failure::run naming the step that failed.
  explicit EmulatedCluster(const EmulatedShape& shape);

  const EmulatedShape& shape() const { return shape_; }

  // Live, at both ends; connections stay. Errors: Failure::run.
  void set_nic_rate(int rank, Bandwidth rate);

  // Runs `body` in a process per rank, inside its namespace, with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
  // MASTER_ADDR and MASTER_PORT set as torchrun does, and a secret of its own; its result is the process's exit code.
  // Returns when all have ended: 0, or the code of the first that failed (128 + N when signal N ended it), as
  // RankProcesses::wait() with its patience.
  int run_ranks(const std::function<int(int rank)>& body, const std::function<bool()>& interrupted);

 private:
  void build();
  void verify() const;

  EmulatedShape shape_;
  PrivateNameSpaces private_;
};

}  // namespace shardsim
