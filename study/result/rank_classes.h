#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace shardsim {

struct CaseResult;

// Ranks that are alike in all numbers that a case has of each rank, so that a result of a large world says such a
// number once for all of them.
class RankClasses {
 public:
  RankClasses() = default;  // of a small world: none

  // Classes from texts of rank sets (topology/spec/rank_set.h). Errors (Failure::input, at `place`): as
  // read_rank_sets(); a rank in two classes, or a gap below the highest rank.
  RankClasses(const std::vector<std::string>& texts, const Place& place);

  // Splits classes until `list`, a number for each rank, is the same within each; leaves them as they are if that would
  // take more than `most` classes. The first list says how many ranks there are.
  template <typename Number>
  void tell_apart(const std::vector<Number>& list, std::size_t most);

  std::size_t size() const { return first_.size(); }
  std::vector<std::string> texts() const;  // in the order of their lowest ranks

  // The number of each class; nothing where ranks of one class differ.
  template <typename Number>
  std::optional<std::vector<Number>> by_class(const std::vector<Number>& list) const;

  // The list again. Errors (Failure::input, at `place`): not one number for each class.
  template <typename Number>
  std::vector<Number> by_rank(const std::vector<Number>& numbers, const Place& place) const;

 private:
  std::vector<int> of_rank_;  // [rank] class
  std::vector<int> first_;    // [class] lowest rank, rising
};

// True when there are many ranks, and the lists that name them or have a number for each are so long in a result that
// it says once what is alike.
bool is_large(const CaseResult& result);

// None where it is not large. A list that differs from rank to rank tells no ranks apart: it stays a list.
RankClasses rank_classes(const CaseResult& result);

}  // namespace shardsim
