#include "sim/engine/networks/fair_link.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace shardsim {

void FairLanes::start(TransferId transfer, double cap, double bytes, double now) {
  settle(now);
  Lane& lane = lane_of(cap);
  lane.moving.push_back({lane.served + bytes, transfer});
  std::push_heap(lane.moving.begin(), lane.moving.end(), std::greater<>());
  ++moving_;
}

void FairLanes::set_rate(double rate, double now) {
  settle(now);
  rate_ = rate;
}

FairLanes::Lane& FairLanes::lane_of(double cap) {
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
void FairLanes::settle(double now) {
  for (Lane& lane : lanes_) lane.served += lane.rate * (now - settled_);
  settled_ = now;
}

void FairLanes::share() {
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

double FairLanes::next_end() const {
  double next = std::numeric_limits<double>::infinity();
  for (const Lane& lane : lanes_) next = std::min(next, lane.next_end);
  return next;
}

void FairLanes::take_ended(double now, std::vector<TransferId>& ended) {
  settle(now);
  for (Lane& lane : lanes_) {
    if (lane.next_end <= now + kSameInstant) end_due(lane, ended);
  }
  if (moving_ == 0) return fall_idle();
  lanes_.erase(std::remove_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.moving.empty(); }),
               lanes_.end());
}

// One lane stays as if it were new.
void FairLanes::fall_idle() {
  if (lanes_.empty()) return;
  lanes_.erase(std::next(lanes_.begin()), lanes_.end());
  Lane& lane = lanes_.front();
  lane.served = lane.rate = 0;
  lane.next_end = std::numeric_limits<double>::infinity();
}

// The next one to end, and those that end with it.
void FairLanes::end_due(Lane& lane, std::vector<TransferId>& ended) {
  lane.served = std::max(lane.served, lane.moving.front().end);
  while (!lane.moving.empty() && lane.moving.front().end - lane.served <= lane.rate * kSameInstant) {
    ended.push_back(lane.moving.front().transfer);
    std::pop_heap(lane.moving.begin(), lane.moving.end(), std::greater<>());
    lane.moving.pop_back();
    --moving_;
  }
}

void FairLink::start(TransferId transfer, double cap, double bytes, double now) {
  if (state_ == State::alone) meet();
  awaits_share_ = true;
  if (state_ == State::lanes) return lanes_->start(transfer, cap, bytes, now);
  state_ = State::alone;
  transfer_ = transfer;
  started_ = now;
  bytes_ = bytes;
  cap_ = cap;
}

void FairLink::set_rate(double rate, double now) {
  if (state_ == State::alone) meet();
  awaits_share_ = true;
  rate_ = rate;
  if (state_ == State::lanes) lanes_->set_rate(rate, now);
}

double FairLink::next_end() const {
  if (state_ == State::alone) return started_ + bytes_ / std::min(cap_, rate_);
  return state_ == State::lanes ? lanes_->next_end() : std::numeric_limits<double>::infinity();
}

// The one that was alone goes on in a lane of its own, as if it had been there from its start.
void FairLink::meet() {
  if (lanes_ == nullptr) lanes_ = std::make_unique<FairLanes>(rate_);
  lanes_->set_rate(rate_, started_);
  lanes_->start(transfer_, cap_, bytes_, started_);
  if (!awaits_share_) lanes_->share();
  state_ = State::lanes;
}

void FairLink::take_ended(double now, std::vector<TransferId>& ended) {
  if (state_ == State::alone) {
    if (next_end() <= now + kSameInstant) {
      ended.push_back(transfer_);
      state_ = State::idle;
      awaits_share_ = false;
      return;
    }
    meet();
  }
  if (state_ == State::idle) return;
  lanes_->take_ended(now, ended);
  if (lanes_->idle()) state_ = State::idle;
  awaits_share_ = state_ != State::idle;
}

}  // namespace shardsim
