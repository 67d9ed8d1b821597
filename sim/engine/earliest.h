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

// Sorts by `when`, which is 0 or more, and leaves events of one time in their order: digit by digit of its bits, which
// as a number rise with it. Other sorts compare a hundred thousand ends of transfers seventeen times each, and in turns
// that no processor foresees.
template <typename Event>
void sort_by_time(std::vector<Event>& events) {
  constexpr int kBits = 8;
  const auto digit = [](const Event& event, int place) {
    return (std::bit_cast<std::uint64_t>(event.when) >> (place * kBits)) % (1 << kBits);
  };
  std::array<std::array<std::uint32_t, 1 << kBits>, 64 / kBits> counts{};  // [place][digit]
  for (const Event& event : events) {
    for (int place = 0; place < 64 / kBits; ++place) ++counts[place][digit(event, place)];
  }
  std::vector<Event> sorted(events.size());
  for (int place = 0; place < 64 / kBits; ++place) {
    auto& next = counts[place];
    if (next[digit(events.front(), place)] == events.size()) continue;  // all alike
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const Event& event : events) sorted[next[digit(event, place)]++] = event;
    events.swap(sorted);
  }
}

// The earliest of many events first. A large cluster has hundreds of thousands of events under way, and each level of a
// heap that no cache holds costs a wait for memory: so four children have one parent, and events that come together, as
// the transfers of a collective do, are sorted once into a list of their own. Events of one time come in the order of
// `>`, those of one list in the order in which they were given.
template <typename Event>
class Earliest {
 public:
  bool empty() const { return single_.empty() && lists_.empty(); }
  const Event& top() const { return from_list() ? lists_.front().top() : single_.top(); }
  // Of the list that the earliest comes from, the event that is the earliest soon; null where there is none. Whoever
  // handles events can have what this one needs fetched from memory meanwhile.
  const Event* soon() const { return from_list() ? lists_.front().soon() : nullptr; }
  void push(const Event& event) { single_.push(event); }

  void push_all(std::span<const Event> events) {
    if (events.size() < kLeastInList) {
      for (const Event& event : events) push(event);
      return;
    }
    lists_.push_back({{events.begin(), events.end()}});
    sort_by_time(lists_.back().events);
    std::ranges::push_heap(lists_, later);
  }

  void pop() {
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
  static constexpr std::size_t kLeastInList = 256;
  static constexpr std::size_t kSoon = 8;
  struct List {
    std::vector<Event> events;  // rising
    std::size_t next = 0;
    const Event& top() const { return events[next]; }
    const Event* soon() const { return next + kSoon < events.size() ? &events[next + kSoon] : nullptr; }
  };

  static bool later(const List& a, const List& b) { return a.top() > b.top(); }
  bool from_list() const { return !lists_.empty() && (single_.empty() || single_.top() > lists_.front().top()); }
  // Whether the list in front belongs there with its next event, too.
  bool stays_first() const {
    const List& front = lists_.front();
    if (front.next + 1 == front.events.size()) return false;
    const Event& next = front.events[front.next + 1];
    const auto children = std::span(lists_).subspan(1, std::min<std::size_t>(lists_.size() - 1, 2));
    return std::ranges::none_of(children, [&](const List& list) { return next > list.top(); });
  }

  boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<std::greater<Event>>> single_;
  std::vector<List> lists_;  // a heap, that of the earliest event in front
};

}  // namespace shardsim
