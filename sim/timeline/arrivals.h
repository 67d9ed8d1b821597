#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sim/timeline/timeline.h"

namespace shardsim {

// Who waits for whom. A collective begins when every member of its rank set has arrived; the spans of one collective
// are those of one op and iteration on the ranks of one set, the first on each, the second on each, and so on.
class Arrivals {
 public:
  explicit Arrivals(const Timeline& timeline);

  // When the collective of that span begins, us on the Timeline's clock; the span's own start for compute, and where
  // the Timeline does not know the members.
  double begin_us(std::size_t span) const { return timeline_.spans[last_[span]].start_us; }

  // The span of the member that arrives last (of several the lowest rank's); the span itself when it waits for nobody.
  std::size_t last(std::size_t span) const { return last_[span]; }

  // The op whose end the rank of that span had seen last when the span started, -1 when there was none. Before a single
  // steady iteration runs its copy.
  int op_before(std::size_t span) const;

 private:
  using Ends = std::vector<std::pair<double, int>>;  // us and op, rising

  void match_members();
  void collect_ends() const;

  const Timeline& timeline_;
  std::vector<std::size_t> last_;   // [span]
  mutable std::vector<Ends> ends_;  // [rank]; none until somebody asks who was before
  mutable double close_us_ = 0;     // what started so little before the end of another waited for it
};

}  // namespace shardsim
