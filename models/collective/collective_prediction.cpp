#include "models/collective/collective_prediction.h"

#include <algorithm>

#include "base/error.h"
#include "models/collective/collective.h"

namespace shardsim {
namespace {

void check_groups(const CollectiveQuestion& question) {
  std::vector<int> all = question.ranks;
  for (const auto& group : question.beside) all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice == all.end()) return;
  throw input_error({std::string(collective_kind_name(question.kind))},
                    "rank " + std::to_string(*twice) + " is in the groups twice", "Name each member once");
}

CallShape shape_of(const CollectiveQuestion& question, const ByteMatrix& matrix, const Cluster& cluster) {
  if (question.rank_bytes) return call_shape(question.ranks, *question.rank_bytes, cluster);
  return call_shape({question.kind, question.ranks, &matrix, question.bytes}, cluster);
}

// The time of all groups side by side. `expand` gives the loads of one.
template <typename Expand>
SideBySide of_groups(const CollectiveQuestion& question, const Cluster& cluster, std::vector<CollectiveLoads>& expanded,
                     Expand expand) {
  check_groups(question);
  expanded.push_back(expand(question.ranks));
  for (const auto& group : question.beside) expanded.push_back(expand(group));
  std::vector<const CollectiveLoads*> calls;
  for (const CollectiveLoads& loads : expanded) calls.push_back(&loads);
  return side_by_side(calls, cluster);
}

// Every rank sends as much.
ByteMatrix even_matrix(const CollectiveQuestion& question) {
  ByteMatrix even;
  even.units = {question.bytes};
  return even;
}

}  // namespace

Seconds predicted_time(const CollectiveQuestion& question, const Cluster& cluster, KeptSchedules& kept) {
  const ByteMatrix even = even_matrix(question);
  std::vector<CollectiveLoads> expanded;
  const auto expand = [&](const std::vector<int>& ranks) {
    return expand_collective({question.kind, ranks, &even, question.bytes, question.nvls_reduces}, cluster, kept);
  };
  return of_groups(question, cluster, expanded, expand).time;
}

CollectivePrediction predict_collective(const CollectiveQuestion& question, const Cluster& cluster) {
  const ByteMatrix even = even_matrix(question);
  const ByteMatrix* matrix = question.matrix ? question.matrix : &even;
  std::vector<CollectiveLoads> expanded;
  const auto expand = [&](const std::vector<int>& ranks) {
    return question.rank_bytes
               ? expand_rank_bytes(ranks, *question.rank_bytes, cluster)
               : expand_collective({question.kind, ranks, matrix, question.bytes, question.nvls_reduces}, cluster,
                                   "auto");
  };
  const SideBySide together = of_groups(question, cluster, expanded, expand);
  CollectivePrediction prediction{
      together.time, expanded.front().algorithm, expanded.front().protocol, {}, {}, {}, {}, {}};
  if (question.ranks.size() < 2) {
    prediction.algorithm = "none";
  } else {
    const CallShape shape = shape_of(question, *matrix, cluster);
    prediction.outside_fit = outside_fit(shape, cluster);
    prediction.taken_outside_fit = taken_outside_fit(shape, cluster);
    prediction.extrapolated_fit = extrapolated_fit(shape, cluster);
    prediction.outside_relay_fit = outside_relay_fit(shape, question.ranks, cluster);
  }
  if (together.bottleneck >= 0) prediction.bottleneck = cluster.link_name(together.bottleneck);
  return prediction;
}

}  // namespace shardsim
