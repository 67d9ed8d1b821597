#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "study/sweep/crew.h"

namespace shardsim {

// This process as one of several that mpirun (or srun) has started. Rank 0 hands out points; the others simulate them.
class MpiSession {
 public:
  // Nothing where nobody has started several. Errors (Failure::run): this build has no MPI part, or the launcher
  // belongs to another MPI than that one.
  static std::unique_ptr<MpiSession> join();
  ~MpiSession();  // rank 0 sends the others home; all leave MPI, in order unless one of them has died
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // On rank 0: the others. The session outlives it. A rank that is not heard of for 15 s is gone, so that a launcher
  // which goes on without it (mpirun --enable-recovery) finishes the sweep.
  std::unique_ptr<Crew> crew();
  // On the others: does what rank 0 asks for until it sends this one home, or until `interrupted`. Points are simulated
  // in a child, so that one that dies costs no rank.
  void serve(const PointTask& task, const std::function<bool()>& interrupted);
  // On the others: tells rank 0 that this one cannot work.
  void give_up(const std::string& why);

  struct Wire;  // what the loaded file offers

 private:
  explicit MpiSession(std::unique_ptr<Wire> wire);
  void send_home();
  void leave();
  bool came_home();  // whether rank 0 needs nothing more of this one

  std::unique_ptr<Wire> wire_;
  int rank_ = 0, size_ = 1;
  std::set<int> silent_;  // ranks that died, as far as this one knows; of the others itself stands for any
};

}  // namespace shardsim
