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

}  // namespace

CollectivePrediction predict_collective(const CollectiveQuestion& question, const Cluster& cluster) {
  check_groups(question);
  ByteMatrix even;
  even.units = {question.bytes};
  const ByteMatrix* matrix = question.matrix ? question.matrix : &even;
  std::vector<CollectiveLoads> expanded;
  const auto expand = [&](const std::vector<int>& ranks) {
    expanded.push_back(question.rank_bytes
                           ? expand_rank_bytes(ranks, *question.rank_bytes, cluster)
                           : expand_collective({question.kind, ranks, matrix, question.bytes, question.nvls_reduces},
                                               cluster, "auto"));
  };
  expand(question.ranks);
  for (const auto& group : question.beside) expand(group);
  std::vector<const CollectiveLoads*> calls;
  for (const CollectiveLoads& loads : expanded) calls.push_back(&loads);
  const SideBySide together = side_by_side(calls, cluster);
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
