#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/engine/critical_path.h"

namespace shardsim {

// The spans of a run, found by rank, operation and iteration, and which of them may have made one start. Ranks are the
// simulated ones, by position; iterations are positions in PastRun::iterations.
class PastSpans {
 public:
  explicit PastSpans(const PastRun& run);

  using Span = Execution::RawSpan;
  struct Node {
    int rank = 0, op = 0, iteration = 0;
    bool operator==(const Node&) const = default;
  };

  std::size_t ranks() const { return ranks_.size(); }
  std::size_t ops() const { return run_.program.ops.size(); }
  int rank_number(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  const Span* find(const Node& node) const;  // null where it did not run, or is not known
  bool takes_part(int rank, int op) const { return before_[slot(rank, op)] != kNone; }

  // The operations that it may have waited for on its own rank: dependencies, then the operation before it on its
  // stream. There are none of iterations that are not known.
  std::vector<Node> awaited(const Node& node) const;
  // The operation that follows on the stream, in the same iteration or the next one.
  Node next_on_stream(const Node& node) const;

  struct Call {
    int number = -1;                  // of OpWork::calls; -1: no collective, or the rank is in no set
    const std::vector<int>* members;  // simulated ranks
  };
  Call call_of(int rank, int op) const;
  // The time when the last member had arrived.
  double begin(const Call& call, int op, int iteration) const;
  const OpWork& work(const Node& node) const;

 private:
  static constexpr int kNone = -1;
  struct Group {
    std::vector<int> call_of;               // [rank], -1: in none
    std::vector<std::vector<int>> members;  // [call]
  };
  std::size_t slot(int rank, int op) const {
    return static_cast<std::size_t>(rank) * ops() + static_cast<std::size_t>(op);
  }
  void take_order();
  void take_groups();
  const std::vector<int>& index(int iteration) const;

  const PastRun& run_;
  std::vector<int> ranks_;                       // their numbers
  std::vector<int> position_;                    // [rank of the world], -1: not simulated
  std::vector<int> before_, after_;              // [slot] its neighbours on its stream, round and round
  std::map<std::string, Group> groups_;          // by name
  std::vector<const Group*> group_of_;           // [op]; null for compute
  std::vector<std::size_t> first_call_;          // [op] where its calls begin in begins_
  mutable std::vector<std::vector<int>> spans_;  // [iteration][slot], found when first asked for
  // [iteration][call of an op] when its last member had arrived; NaN until first asked for: every member asks.
  mutable std::vector<std::vector<double>> begins_;
};

}  // namespace shardsim
