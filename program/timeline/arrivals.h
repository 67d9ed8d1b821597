#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/timeline/timeline.h"

namespace shardsim {

// The spans of a Timeline that are a rank's, in the order in which they are: what a list by rank would copy is only
// numbered, for a Timeline of a large world has millions of them.
class RankSpans {
 public:
  explicit RankSpans(const Timeline& timeline);  // at most 2^32 spans

  std::span<const std::uint32_t> of(int rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return {spans_.data() + begin_[index], begin_[index + 1] - begin_[index]};
  }

 private:
  std::vector<std::size_t> begin_;    // [rank], and behind the last one
  std::vector<std::uint32_t> spans_;  // indices into Timeline::spans
};

// Who waits for whom. A collective begins when every member of its rank set has arrived; the spans of one collective
// are those of one op and iteration on the ranks of one set, the first on each, the second on each, and so on.
class Arrivals {
 public:
  explicit Arrivals(const Timeline& timeline);  // of at most 2^32 spans

  // The time when the collective of that span begins, us on the Timeline's clock; the span's own start for compute, and
  // where the Timeline does not know the members.
  double begin_us(std::size_t span) const { return timeline_.spans[last_[span]].start_us; }

  // The span of the member that arrives last (of several the lowest rank's); the span itself when it waits for nobody.
  std::size_t last(std::size_t span) const { return last_[span]; }

  // The op by which the last member of a collective, to which the span belongs, came later than the first one: of the
  // ops that its rank ran one after the other since both had met, the one that took longest beyond the same op of the
  // first member. All of a late rank's work is late, so that what it ran while the others waited need not be the cause.
  // If it took longer in none, the one that took most of the time since the first member had arrived; if none ran in
  // that time, the one that ended last. -1 when there was none. Before a single steady iteration runs its copy.
  int op_waited_on(std::size_t last) const;

 private:
  struct Ended {
    double end_us = 0, start_us = 0;
    int op = 0;
    auto operator<=>(const Ended&) const = default;
  };
  using Ends = std::vector<Ended>;  // rising

  void match_members();
  void find_period() const;
  const Ends& ends_of(int rank) const;
  // Returns the position behind the last of `ends` up to this time, not counting `own`; the begin where there is none.
  Ends::const_iterator ended_by(const Ends& ends, double us, const Ended& own) const;
  static const Ended* nearest_run(const Ends& ends, int op, double end_us);
  struct Excess {
    double us = 0;
    bool met = false;
  };
  Excess excess_of(const Ended& late, int late_rank, int first_rank) const;
  bool meet(int op, int rank, int other) const;

  const Timeline& timeline_;
  // A large world has millions of spans and few that others wait for.
  std::vector<std::uint32_t> last_;                         // [span]
  std::unordered_map<std::size_t, std::uint32_t> first_{};  // by the span of a last member: that of the first one
  // Found at the first call of op_waited_on(): facts about the Timeline, and about the ranks that were asked for.
  mutable std::optional<RankSpans> of_ranks_;
  mutable std::optional<std::map<std::string, std::vector<int>>> sets_;  // [group][rank] its set, -1: in none
  mutable double period_us_ = 0;
  mutable int copies_ = 0;       // of a single iteration, before it
  mutable double close_us_ = 0;  // what started so little before the end of another waited for it
  mutable std::map<int, Ends> ends_;
};

}  // namespace shardsim
