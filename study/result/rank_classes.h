#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/packed.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/rank_set.h"

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

inline constexpr const char* kByClass = "_by_class";

// A number of each rank in the fields of a result, under `name`, or of each class of ranks, under `name` and kByClass.
template <typename Visitor>
void by_rank(Visitor& visit, const std::string& name, auto& list, const RankClasses& classes) {
  if constexpr (!Named<Visitor>) {
    visit.field(name, list);
  } else if constexpr (Visitor::kReads) {
    const std::string grouped = name + kByClass;
    if (!visit.has(grouped)) return visit.field(name, list);
    visit.field(grouped, list);
    list = classes.by_rank(list, visit.place_of(grouped));
  } else {
    const auto numbers = classes.by_class(list);
    numbers ? visit.field(name + kByClass, *numbers) : visit.field(name, list);
  }
}

// Ranks one by one, or as the text of rank sets.
template <typename Visitor>
void ranks_or_set(Visitor& visit, auto& ranks, bool as_set) {
  if constexpr (Named<Visitor>) {
    if constexpr (Visitor::kReads) {
      if (visit.has("rank_set")) {
        std::string text;
        visit.field("rank_set", text);
        ranks = read_rank_sets(text, kMostRanks, visit.place_of("rank_set"));
        return;
      }
    } else if (as_set && !ranks.empty()) {
      return visit.field("rank_set", rank_sets_text(ranks));
    }
  }
  visit.field("ranks", ranks);
}

// Ranks that are alike, as a form with names tells them.
template <typename Visitor>
RankClasses class_fields(Visitor& visit, auto& result) {
  RankClasses classes;
  if constexpr (Named<Visitor>) {
    if constexpr (!Visitor::kReads) classes = rank_classes(result);
    std::vector<std::string> texts = classes.texts();
    visit.take("rank_classes", texts);
    if constexpr (Visitor::kReads) classes = RankClasses(texts, visit.place_of("rank_classes"));
  }
  return classes;
}

}  // namespace shardsim
