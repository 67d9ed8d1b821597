#pragma once

#include <optional>
#include <set>
#include <vector>

#include "program/program.h"

namespace shardsim {

// The work that one rank has still to do: its streams in order, and which operations have ended.
class RankStreams {
 public:
  RankStreams(const Program& program, int iterations);  // at most so many
  void add(const Op& op);                               // that the rank takes part in; in list order
  // Once all are added: takes lists that are alike from `known`, to which it adds others. Most ranks have the same
  // operations, and lists that many look at are where the processor finds them at once. `known` outlives this.
  using Orders = std::set<std::vector<int>>;
  void share_orders(Orders& known);

  struct Next {
    int op = 0;
    int iteration = 0;
  };

  // The operation at the head of a stream if it may start now; it counts as started then. What is asked at every end of
  // an operation, and mostly in vain, is asked here, where it costs no call.
  std::optional<Next> take(int index) {
    Stream& stream = streams_[static_cast<std::size_t>(index)];
    if (stream.busy || !has_ended(stream.awaited)) return std::nullopt;
    return head_of(stream);
  }
  void end(int op);

  void allow(int iterations) { iterations_ = iterations; }  // in all
  bool finished(int iteration) const;
  int streams() const { return static_cast<int>(streams_.size()); }

 private:
  // An operation that has to end in this iteration before another may start.
  struct Awaited {
    int op = -1;  // none
    int iteration = 0;
  };
  struct Stream {
    const std::vector<int>* ops = nullptr;  // in order; null: none
    int next = 0;
    int iteration = 0;
    bool busy = false;
    // The operation that the head waits for: until it has ended nothing else about the head need be asked.
    Awaited awaited{};
  };
  bool has_ended(const Awaited& awaited) const { return awaited.op < 0 || ended_[awaited.op] >= awaited.iteration; }
  std::optional<Next> head_of(Stream& stream) const;
  Awaited awaited_by(const Op& op, int iteration) const;  // the first that has not ended

  const Program& program_;
  std::vector<Stream> streams_;
  std::vector<std::vector<int>> own_orders_;  // [stream], until they are shared
  std::vector<int> ended_;                    // [op] last iteration that ended, -1 before the first
  int count_ = 0;                             // operations of an iteration
  int iterations_ = 0;
  std::vector<int> left_;  // [iteration that has begun to end] operations that have not ended
};

}  // namespace shardsim
