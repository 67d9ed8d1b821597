#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>
#include <set>
#include <vector>

#include "program/program.h"

namespace shardsim {

// The work that one rank has still to do: its streams in order, and which operations have ended.
class RankStreams {  // NOLINT(bugprone-exception-escape): Boost declares that a move of a small_vector does not throw
 public:
  // Lists of operations, those that are alike once: most ranks have the same operations, and lists that many look at
  // are where the processor finds them at once.
  using Orders = std::set<std::vector<int>>;
  // At most so many iterations of the operations that the rank takes part in, `ops`, in list order. What it needs of
  // them is in `known`, which outlives this.
  RankStreams(const Program& program, int iterations, const std::vector<int>& ops, Orders& known);

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
    int place = 0;  // among all that the other one waits for: those before it have ended
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
  Awaited awaited_by(const Op& op, int iteration, int from) const;  // the first from there on that has not ended

  // Lie in the object itself where they are as few as in most Programs: a large world has tens of thousands of these,
  // which no cache holds, and whoever knows which one is next can have it fetched.
  template <typename Value, std::size_t kFew>
  using Near = boost::container::small_vector<Value, kFew>;

  const Program& program_;
  int count_ = 0;  // operations of an iteration
  int iterations_ = 0;
  Near<Stream, 4> streams_;
  Near<int, 4> left_;    // [iteration that has begun to end] operations that have not ended
  Near<int, 20> ended_;  // [op] last iteration that ended, -1 before the first
};

}  // namespace shardsim
