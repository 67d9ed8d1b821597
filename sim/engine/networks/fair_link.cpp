#include "sim/engine/networks/fair_link.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace shardsim {

void FairLink::start(TransferId transfer, double cap, double bytes, double now) {
  settle(now);
  Lane& lane = lane_of(cap);
  lane.moving.push_back({lane.served + bytes, transfer});
  std::push_heap(lane.moving.begin(), lane.moving.end(), std::greater<>());
  ++moving_;
}

void FairLink::set_rate(double rate, double now) {
  settle(now);
  rate_ = rate;
}

FairLink::Lane& FairLink::lane_of(double cap) {
  if (moving_ == 0 && !lanes_.empty()) {  // the one that was kept
    lanes_.front().cap = cap;
    return lanes_.front();
  }
  const auto lane = std::lower_bound(lanes_.begin(), lanes_.end(), cap,
                                     [](const Lane& each, double wanted) { return each.cap < wanted; });
  if (lane != lanes_.end() && lane->cap == cap) return *lane;
  return *lanes_.insert(lane, Lane{cap, 0, 0});
}

// Brings virtual times to `now`; a change follows.
void FairLink::settle(double now) {
  for (Lane& lane : lanes_) lane.served += lane.rate * (now - settled_);
  settled_ = now;
  awaits_share_ = true;
}

void FairLink::share() {
  awaits_share_ = false;
  if (moving_ == 0) return;
  double free = rate_;
  std::size_t waiting = moving_;
  for (Lane& lane : lanes_) {
    const auto members = static_cast<double>(lane.moving.size());
    lane.rate = std::min(lane.cap, free / static_cast<double>(waiting));
    lane.next_end = settled_ + std::max(lane.moving.front().end - lane.served, 0.0) / lane.rate;
    free -= members * lane.rate;
    waiting -= lane.moving.size();
  }
}

double FairLink::next_end() const {
  double next = std::numeric_limits<double>::infinity();
  for (const Lane& lane : lanes_) next = std::min(next, lane.next_end);
  return next;
}

void FairLink::take_ended(double now, std::vector<TransferId>& ended) {
  settle(now);
  for (Lane& lane : lanes_) {
    if (lane.next_end <= now + kSameInstant) end_due(lane, ended);
  }
  awaits_share_ = moving_ > 0;
  if (!awaits_share_) return fall_idle();
  lanes_.erase(std::remove_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.moving.empty(); }),
               lanes_.end());
}

// One lane stays as if it were new: the link carries a transfer again soon, mostly one at a time.
void FairLink::fall_idle() {
  if (lanes_.empty()) return;
  lanes_.erase(std::next(lanes_.begin()), lanes_.end());
  Lane& lane = lanes_.front();
  lane.served = lane.rate = 0;
  lane.next_end = std::numeric_limits<double>::infinity();
}

// The next one to end, and those that end with it.
void FairLink::end_due(Lane& lane, std::vector<TransferId>& ended) {
  lane.served = std::max(lane.served, lane.moving.front().end);
  while (!lane.moving.empty() && lane.moving.front().end - lane.served <= lane.rate * kSameInstant) {
    ended.push_back(lane.moving.front().transfer);
    std::pop_heap(lane.moving.begin(), lane.moving.end(), std::greater<>());
    lane.moving.pop_back();
    --moving_;
  }
}

}  // namespace shardsim
