#pragma once

#include <boost/container/small_vector.hpp>
#include <limits>
#include <memory>
#include <vector>

#include "sim/engine/network.h"

namespace shardsim {

// Ends closer together than this are one, as in SimGrid (surf/precision); in seconds.
inline constexpr double kSameInstant = 1e-12;

// Transfers that share one link max-min fairly: a processor-sharing queue. At any time all transfers of one cap draw
// the same rate, so they form a lane with a virtual time of its own: the bytes that each of them would have moved since
// the lane was last idle. A transfer ends at the virtual time at which it started plus its bytes, whatever comes and
// goes meanwhile, so a start or an end costs the logarithm of the transfers of its lane, and one step per lane to share
// the rate anew. A lane that falls idle begins again at 0, so that rounding does not add up over a long run.
// Times are seconds, amounts bytes, rates bytes per second. Callers give times that never decrease; after any change
// `share` comes before the next question.
class FairLanes {
 public:
  explicit FairLanes(double rate) : rate_(rate) {}

  void start(TransferId transfer, double cap, double bytes, double now);
  void set_rate(double rate, double now);
  void share();
  double next_end() const;
  void take_ended(double now, std::vector<TransferId>& ended);

  bool idle() const { return moving_ == 0; }

 private:
  struct Moving {
    double end = 0;  // virtual time of its lane
    TransferId transfer = 0;
    bool operator>(const Moving& other) const { return end != other.end ? end > other.end : transfer > other.transfer; }
  };
  struct Lane {  // NOLINT(bugprone-exception-escape): Boost declares that a move of a small_vector does not throw
    double cap = 0;
    double served = 0;  // virtual time
    double rate = 0;    // of each of its transfers
    double next_end = std::numeric_limits<double>::infinity();
    // A heap, the next to end in front.
    boost::container::small_vector<Moving, 1> moving{};
  };

  Lane& lane_of(double cap);
  void settle(double now);
  void end_due(Lane& lane, std::vector<TransferId>& ended);
  void fall_idle();

  double rate_;
  double settled_ = 0;                               // the lanes' virtual times are of this moment
  boost::container::small_vector<Lane, 2> lanes_{};  // by rising cap; an empty one where no transfer moves
  std::size_t moving_ = 0;
};

// One link and what moves over it. Most links carry one transfer at a time, which nothing shares: it is described here,
// in what one line of cache holds, and lanes are made for those links alone that two have met on. The times are the
// same to the last bit, for an idle lane begins at 0.
class FairLink {
 public:
  explicit FairLink(double rate) : rate_(rate) {}

  // `cap`: most that the transfer may draw; infinite where only the link limits it.
  void start(TransferId transfer, double cap, double bytes, double now);
  void set_rate(double rate, double now);
  // Deals the rate out: nobody gets more than its cap, and what the narrow ones leave goes to the others.
  void share() {
    awaits_share_ = false;
    if (state_ == State::lanes) lanes_->share();
  }
  // When the next transfer ends of itself; infinity when none moves.
  double next_end() const;
  // Ends the transfers that are due at `now`, a moment that next_end() gave or one within kSameInstant before it. Where
  // none is left, nothing awaits a share.
  void take_ended(double now, std::vector<TransferId>& ended);

  bool awaits_share() const { return awaits_share_; }

 private:
  enum class State : char { idle, alone, lanes };
  void meet();

  double rate_;
  double started_ = 0, bytes_ = 0, cap_ = 0;  // of the one that is alone
  std::unique_ptr<FairLanes> lanes_;          // null until two meet
  TransferId transfer_ = 0;
  State state_ = State::idle;
  bool awaits_share_ = false;
};

}  // namespace shardsim
