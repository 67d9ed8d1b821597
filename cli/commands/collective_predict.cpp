#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/collective.h"
#include "cli/commands/shared.h"

namespace shardsim {
namespace {

std::vector<CollectivePrediction> predictions_of(const CollectiveRequest& request, const Cluster& cluster) {
  CollectiveQuestion question;
  question.kind = request.kind;
  question.ranks = request.groups.front();
  question.beside.assign(request.groups.begin() + 1, request.groups.end());
  std::vector<CollectivePrediction> predictions;
  for (std::size_t row = 0; row < request.sizes.size(); ++row) {
    question.bytes = request.sizes[row];
    question.matrix = request.matrices.empty() ? nullptr : &request.matrices[row];
    question.rank_bytes = request.rank_bytes.empty() ? nullptr : &request.rank_bytes;
    predictions.push_back(predict_collective(question, cluster));
  }
  return predictions;
}

int predict(const Arguments& given, const Terminal&) {
  const Cluster cluster = asked_cluster(given.text("cluster"), Arguments::place("cluster"), given);
  const CollectiveRequest request = collective_request(given, cluster);
  const auto predictions = predictions_of(request, cluster);
  print_result(given.has("json") ? collective_json(request, predictions, cluster)
                                 : collective_table(request, predictions, cluster));
  return 0;
}

Command predict_command() {
  return {.name = "shardsim collective predict",
          .summary = "say how long a collective takes on a cluster when nothing else runs",
          .options = std::vector{Option{"cluster", 0, "NAME|FILE",
                                        "The cluster, as `shardsim list clusters` names it, or a file.", "",
                                        Option::Times::once},
                                 nodes_option(), cluster_set_option()} +
                     collective_request_options() +
                     std::vector{Option{"fits", 0, "NAME",
                                        "Use this fit instead of what the cluster's `fits` says: none or "
                                        "open_data."},
                                 Option{"json", 0, "", "Print a JSON document instead of the table of nccl-tests."}},
          .examples = {"shardsim collective predict --cluster dgx_a100_80gb --nodes 2 --kind all_reduce --sizes "
                       "1KiB:1GiB:x4"},
          .run = predict};
}

}  // namespace

Command collective_command() {
  return {.name = "shardsim collective",
          .summary = "predict how long collectives take on a cluster; compare with measured times",
          .examples = {"shardsim collective predict --cluster dgx_a100_80gb --nodes 2 --kind all_reduce --sizes "
                       "1KiB:1GiB:x4",
                       "shardsim collective compare --measurements scenarios/measurements/open -o "
                       "out/collective_compare"},
          .parts = {predict_command(), collective_compare_command()}};
}

}  // namespace shardsim
