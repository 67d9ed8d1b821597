#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validate/execute/meet/frame.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim {

// One collective call of a rendezvous at one rank.
struct Contribution {
  enum class Call { all_gather, gather, from_root, barrier, leave };
  Call call = Call::barrier;
  std::string what;  // was going on, for messages
  std::string text;
};
std::string packed_contribution(const Contribution& contribution);
std::optional<Contribution> unpacked_contribution(std::string_view text);

// The contributions to the call under way, at rank 0.
class Round {
 public:
  explicit Round(int world_size) : contributions_(static_cast<std::size_t>(world_size)) {}

  // "", or why it does not fit: another call than the others', or a second one.
  std::string add(int rank, Contribution contribution);
  bool complete() const { return here_ == contributions_.size(); }
  // What is sent to the others (`own`: what rank 0 gets) once complete.
  std::string result(bool own) const;
  Contribution::Call call() const;
  std::string what() const;  // of the lowest rank that has come; "" while nobody has
  std::vector<int> missing() const;
  // Seconds since the first contribution; 0 while there is none.
  double age() const;
  void clear();

 private:
  const Contribution* first() const;

  std::vector<std::optional<Contribution>> contributions_;
  std::size_t here_ = 0;
  TimePoint began_;
};

}  // namespace shardsim
