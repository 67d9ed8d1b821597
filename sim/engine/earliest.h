#pragma once

#include <boost/heap/d_ary_heap.hpp>
#include <functional>

namespace shardsim {

// The earliest of many events first. Four children to a parent: a large cluster has hundreds of thousands of events
// under way, and each level of a heap that no cache holds costs a wait for memory. Events are all different by `>`, so
// the order is the same for every kind of heap.
template <typename Event>
using Earliest = boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<std::greater<Event>>>;

}  // namespace shardsim
