#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace shardsim {

// Puts events in order by one digit of `bits_of` an event, `kBits` from bit `from` on; those of one digit stay in their
// order. `sorted`: room for as many.
template <int kBits, typename Event, typename BitsOf>
void sort_by_digit(std::vector<Event>& events, std::vector<Event>& sorted, int from, const BitsOf& bits_of) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  std::array<std::uint32_t, kMask + 1> next{};  // [digit]
  for (const Event& event : events) ++next[(bits_of(event) >> from) & kMask];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
  for (const Event& event : events) sorted[next[(bits_of(event) >> from) & kMask]++] = event;
  events.swap(sorted);
}

// Moves the events to their places that are a few places away from them; false where that would take too many moves,
// with events of one number still in their order.
template <typename Event, typename BitsOf>
bool sort_nearly_sorted(std::vector<Event>& events, const BitsOf& bits_of) {
  std::size_t moves = 2 * events.size();
  for (std::size_t i = 1; i < events.size(); ++i) {
    const std::uint64_t own = bits_of(events[i]);
    if (bits_of(events[i - 1]) <= own) continue;
    const Event event = events[i];
    std::size_t at = i;
    for (; at > 0 && bits_of(events[at - 1]) > own; --at) events[at] = events[at - 1];
    events[at] = event;
    if (i - at > moves) return false;
    moves -= i - at;
  }
  return true;
}

// Sorts by the number that `time_of` says of each event, 0 or more, and leaves events of one time in their order: by
// digits of its bits, which as a number rise with it. Other sorts compare a hundred thousand ends of transfers
// seventeen times each, and in turns that no processor foresees. Two digits, of the highest bits in which events
// differ, mostly leave few out of order; where times lie too unevenly for that, all digits are taken. `sorted`: room
// that is kept from one sort to the next.
template <typename Event, typename TimeOf>
void sort_by_time(std::vector<Event>& events, const TimeOf& time_of, std::vector<Event>& sorted) {
  constexpr int kFewBits = 8, kManyBits = 11;
  constexpr std::size_t kMany = 2048;  // events, from which on a larger table of digits is worth its making
  const auto bits = [&](const Event& event) { return std::bit_cast<std::uint64_t>(time_of(event)); };
  std::uint64_t unlike = 0, latest = 0;  // bits in which any two differ
  bool rising = true;
  for (const Event& event : events) {
    unlike |= bits(event) ^ bits(events.front());
    rising = rising && latest <= bits(event);
    latest = bits(event);
  }
  if (rising) return;
  sorted.resize(events.size());
  const int width = static_cast<int>(std::bit_width(unlike));
  const bool many = events.size() >= kMany;
  const int digit = many ? kManyBits : kFewBits;
  const auto sort_from = [&](int from) {
    many ? sort_by_digit<kManyBits>(events, sorted, from, bits) : sort_by_digit<kFewBits>(events, sorted, from, bits);
  };
  const int second = std::max(width - 2 * digit, 0);
  sort_from(second);
  sort_from(second + digit);
  if (sort_nearly_sorted(events, bits)) return;
  for (int from = 0; from < width; from += digit) {
    if (((unlike >> from) & ((std::uint64_t{1} << digit) - 1)) != 0) sort_from(from);
  }
}

template <typename Event, typename TimeOf>
void sort_by_time(std::vector<Event>& events, const TimeOf& time_of) {
  std::vector<Event> sorted;
  sort_by_time(events, time_of, sorted);
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
      spare_ = std::move(lists_.back().events);
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
      sort_by_time(
          fresh_, [](const Event& event) { return event.when; }, sorted_);
      lists_.push_back({std::exchange(fresh_, std::move(spare_))});
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
  // Room that was used before: memory that is touched for the first time costs more than to sort the events.
  std::vector<Event> sorted_, spare_;
};

}  // namespace shardsim
