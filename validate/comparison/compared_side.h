#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "validate/comparison/timeline_comparison.h"

namespace shardsim {

// Tells what an operation does in an iteration, in words, by its class and its name: names of Programs
// (docs/lowering.md), and those that readers of traces give. Operations of one role are compared with each other where
// their names differ: a trace knows no fusion groups. "" of a name that says nothing more than its class.
std::string operation_role(std::string_view name, std::string_view op_class);

// Errors (Failure::input): more iterations of its ranks than figures can be kept for; operations that run through so
// many iterations that none has a beginning.
void require_comparable(const Timeline& timeline, const Place& place);

// The name and class of operations; all_to_all_v counts as all_to_all.
struct OperationName {
  std::string name, op_class;
  auto operator<=>(const OperationName&) const = default;
};

// The time that each rank spends in the operations of each name in each kept iteration.
class OperationTimes {
 public:
  // These ranks are compared; none: all are.
  explicit OperationTimes(const Timeline& timeline, const std::set<int>& ranks = {});

  using Indices = std::vector<std::size_t>;  // of names()

  const std::vector<OperationName>& names() const { return names_; }  // that ran, in order of the Timeline's ops
  std::optional<std::size_t> index_of(const OperationName& name) const;
  const std::vector<std::string>& classes() const { return classes_; }  // that ran, in order of appearance
  const Indices& of_class(const std::string& op_class) const;           // rising

  // The time of these operations (indices of names()), ms, in every iteration in which one of them ran: the sum of
  // their durations on the slowest rank. A rank that waits inside a collective is in it.
  std::vector<double> ms(const Indices& operations) const;

 private:
  std::size_t known_index(const OperationName& name);

  std::vector<OperationName> names_;
  std::map<OperationName, std::size_t> index_;
  std::vector<std::string> classes_;
  std::map<std::string, Indices> of_class_;
  std::vector<std::map<std::pair<int, int>, double>> us_;  // [name]: by iteration and rank, of those that ran it
};

// One side, with what both sides' figures are made of.
struct ComparedSide {
  // `traced`: the ranks that both sides have, where the other one does not have all; none: all of them.
  explicit ComparedSide(const Timeline& of, const std::set<int>& traced = {});

  // The Timeline of a single iteration has more than its spans: the end of the iteration before.
  std::vector<double> iterations_ms() const;
  std::vector<double> rank_ms(std::size_t rank, double (*figure)(const RankTimes&)) const;
  // A figure of the rank that has most exposed time in a window.
  std::vector<double> most_exposed_ms(double RankTimes::*figure) const;

  const Timeline& timeline;
  OperationTimes times;
  std::vector<IterationWindow> windows;
  // [rank][window]: figures of one rank are read together, and there may be millions of both multiplied.
  std::vector<std::vector<RankTimes>> ranks;
  std::vector<RankTimes> most_exposed;  // [window] of the rank that has most exposed time
  double iteration_ms = 0;              // median

 private:
  void add_figures(const std::set<int>& traced);
};

}  // namespace shardsim
