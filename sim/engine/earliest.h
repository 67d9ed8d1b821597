#pragma once

#include <algorithm>
#include <boost/heap/d_ary_heap.hpp>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <functional>
#include <span>
#include <vector>

namespace shardsim {

// The earliest of many events first. A large cluster has hundreds of thousands of events under way, and each level of a
// heap that no cache holds costs a wait for memory: so four children have one parent, and events that come together, as
// the transfers of a collective do, are sorted once and then taken from the end of a list of their own. Events are all
// different by `>`, so their order does not depend on how they came.
template <typename Event>
class Earliest {
 public:
  bool empty() const { return single_.empty() && lists_.empty(); }
  const Event& top() const { return from_list() ? lists_.front().back() : single_.top(); }
  void push(const Event& event) { single_.push(event); }

  void push_all(std::span<const Event> events) {
    if (events.size() < kLeastInList) {
      for (const Event& event : events) push(event);
      return;
    }
    lists_.emplace_back(events.begin(), events.end());
    boost::sort::pdqsort_branchless(lists_.back().begin(), lists_.back().end(), std::greater<Event>());
    std::ranges::push_heap(lists_, later);
  }

  void pop() {
    if (!from_list()) return single_.pop();
    std::ranges::pop_heap(lists_, later);
    lists_.back().pop_back();
    if (lists_.back().empty()) {
      lists_.pop_back();
    } else {
      std::ranges::push_heap(lists_, later);
    }
  }

 private:
  static constexpr std::size_t kLeastInList = 256;
  using List = std::vector<Event>;  // falling: the earliest last

  static bool later(const List& a, const List& b) { return a.back() > b.back(); }
  bool from_list() const { return !lists_.empty() && (single_.empty() || single_.top() > lists_.front().back()); }

  boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<std::greater<Event>>> single_;
  std::vector<List> lists_;  // a heap, that of the earliest event in front
};

}  // namespace shardsim
