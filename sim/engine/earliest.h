#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace shardsim {

// Sorts by the number that `time_of` says of each event, 0 or more, and leaves events of one time in their order: digit
// by digit of its bits, which as a number rise with it. Other sorts compare a hundred thousand ends of transfers
// seventeen times each, and in turns that no processor foresees.
template <typename Event, typename TimeOf>
void sort_by_time(std::vector<Event>& events, const TimeOf& time_of) {
  constexpr int kBits = 8, kPlaces = 64 / kBits;
  const auto bits = [&](const Event& event) { return std::bit_cast<std::uint64_t>(time_of(event)); };
  std::uint64_t unlike = 0, latest = 0;  // bits in which any two differ
  bool rising = true;
  for (const Event& event : events) {
    unlike |= bits(event) ^ bits(events.front());
    rising = rising && latest <= bits(event);
    latest = bits(event);
  }
  if (rising) return;
  std::vector<Event> sorted(events.size());
  for (int place = 0; place < kPlaces; ++place) {
    const auto digit = [&](const Event& event) { return (bits(event) >> (place * kBits)) % (1 << kBits); };
    if ((unlike >> (place * kBits)) % (1 << kBits) == 0) continue;
    std::array<std::uint32_t, 1 << kBits> next{};  // [digit]
    for (const Event& event : events) ++next[digit(event)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const Event& event : events) sorted[next[digit(event)]++] = event;
    events.swap(sorted);
  }
}

template <typename Event>
void sort_by_time(std::vector<Event>& events) {
  sort_by_time(events, [](const Event& event) { return event.when; });
}

// The earliest of many events first, of one time the one that came first; `>` of events says the same. A large cluster
// has hundreds of thousands of events under way, and each level of a heap that no cache holds costs a wait for memory:
// so four children have one parent, and events that come together, as the transfers of a collective do, are sorted once
// into a list of their own.
template <typename Event>
class Earliest {
 public:
  bool empty() const { return fresh_.empty() && none_sorted(); }
  const Event& top() const { return from_fresh() ? fresh_[first_fresh_] : first_sorted(); }
  // An event of a list that is the earliest soon, or null. Whoever handles events can have what this one needs fetched
  // from memory meanwhile.
  const Event* soon() const { return lists_.empty() ? nullptr : lists_.front().soon(); }

  void push(const Event& event) {
    if (!fresh_.empty() && event.when < fresh_[first_fresh_].when) first_fresh_ = fresh_.size();
    fresh_.push_back(event);
  }

  void pop() {
    if (from_fresh()) sort_fresh();
    if (!from_list()) return single_.pop();
    if (stays_first()) {
      ++lists_.front().next;
      return;
    }
    std::ranges::pop_heap(lists_, later);
    if (++lists_.back().next == lists_.back().events.size()) {
      lists_.pop_back();
    } else {
      std::ranges::push_heap(lists_, later);
    }
  }

 private:
  static constexpr std::size_t kLeastInList = 64;
  static constexpr std::size_t kSoon = 8;
  struct List {
    std::vector<Event> events;  // rising
    std::size_t next = 0;
    const Event& top() const { return events[next]; }
    const Event* soon() const { return next + kSoon < events.size() ? &events[next + kSoon] : nullptr; }
  };

  static bool later(const List& a, const List& b) { return a.top() > b.top(); }
  bool none_sorted() const { return single_.empty() && lists_.empty(); }
  bool from_list() const { return !lists_.empty() && (single_.empty() || single_.top() > lists_.front().top()); }
  const Event& first_sorted() const { return from_list() ? lists_.front().top() : single_.top(); }
  bool from_fresh() const {
    return !fresh_.empty() && (none_sorted() || first_sorted().when > fresh_[first_fresh_].when);
  }

  void sort_fresh() {
    if (fresh_.size() < kLeastInList) {
      for (const Event& event : fresh_) single_.push(event);
    } else {
      sort_by_time(fresh_);
      lists_.push_back({fresh_});
      std::ranges::push_heap(lists_, later);
    }
    fresh_.clear();
    first_fresh_ = 0;
  }

  // True when the list in front belongs there with its next event, too.
  bool stays_first() const {
    const List& front = lists_.front();
    if (front.next + 1 == front.events.size()) return false;
    const Event& next = front.events[front.next + 1];
    const auto children = std::span(lists_).subspan(1, std::min<std::size_t>(lists_.size() - 1, 2));
    return std::ranges::none_of(children, [&](const List& list) { return next > list.top(); });
  }

  std::vector<Event> fresh_;     // put aside until one of them is the earliest: the more, the cheaper they are sorted
  std::size_t first_fresh_ = 0;  // the earliest of these
  boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<std::greater<Event>>> single_;
  std::vector<List> lists_;  // a heap, that of the earliest event in front
};

}  // namespace shardsim
