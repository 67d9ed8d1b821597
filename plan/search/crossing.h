#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/search/local_search.h"

namespace shardsim::search {

// A plan that a search found, judged by its own formula.
struct Found {
  std::vector<Choice> plan;  // [table]
  double seconds = 0;
  bool fits = false;
  std::string from = {};  // the planner of a start; "": the search's own
};

// True where `a` is the better one: those that fit come first, then the faster ones.
bool is_before(const Found& a, const Found& b);

// A planner may be good at one kind of table alone, and changes of single tables do not lead to what another one does
// with all of that kind: the best start takes over, group by group, the ways of others that make it faster. Returns all
// that was tried, by the name of the planner whose ways were taken over last. Ends after `evaluations` of the search.
std::vector<Found> crossed_plans(LocalSearch& local, const Workload& workload, const std::vector<Found>& starts,
                                 std::int64_t evaluations);

// The best plan of each planner, the best first, of at most so many. `found` is in order.
std::vector<Found> best_of_planners(const std::vector<Found>& found, std::size_t most);

}  // namespace shardsim::search
