#include <cstdio>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/arguments.h"
#include "cli/collective_compare.h"
#include "cli/collective_request.h"
#include "cli/collective_table.h"
#include "cli/command.h"
#include "models/collective/fitted_overheads.h"
#include "sim/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostNodes = 1'000'000;

Cluster asked_cluster(const Arguments& given) {
  const auto name = given.value("cluster");
  if (!name) {
    throw input_error(Arguments::place("cluster"), "the cluster is missing",
                      "Name a file, or one that `shardsim list clusters` shows");
  }
  Tree tree = load_named(*name, "clusters", "", Arguments::place("cluster"));
  if (const auto nodes = given.value("nodes")) {
    const std::int64_t count = parse_count(*nodes, Arguments::place("nodes"));
    if (count < 1 || count > kMostNodes)
      throw input_error(Arguments::place("nodes"), *nodes + " nodes", "Give 1 to 1,000,000");
    set_path(tree, "nodes", parse_yaml_value(*nodes, Arguments::place("nodes")));
  }
  if (const auto fits = given.value("fits")) set_path(tree, "fits", parse_yaml_value(*fits, Arguments::place("fits")));
  return Cluster(with_fits(read_cluster(tree)));
}

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

int predict(const std::vector<std::string>& arguments) {
  const Arguments given(arguments,
                        {{"cluster", 0, true, false},
                         {"nodes", 0, true, false},
                         {"gpus-per-node", 0, true, false},
                         {"kind", 0, true, false},
                         {"group", 0, true, false},
                         {"sizes", 0, true, false},
                         {"matrix", 0, true, false},
                         {"skew", 0, true, false},
                         {"loads", 0, true, false},
                         {"fits", 0, true, false},
                         {"json", 0, false, false}},
                        0, 0, "shardsim collective predict --cluster NAME|FILE --nodes N --kind KIND --sizes SIZES");
  const Cluster cluster = asked_cluster(given);
  const CollectiveRequest request = collective_request(given, cluster);
  const auto predictions = predictions_of(request, cluster);
  const std::string text = given.has("json") ? collective_json(request, predictions, cluster)
                                             : collective_table(request, predictions, cluster);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

int collective_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  const std::vector<std::string> rest(arguments.empty() ? arguments.end() : arguments.begin() + 1, arguments.end());
  if (what == "predict") return predict(rest);
  if (what == "compare") return collective_compare(rest, terminal);
  throw input_error({"argument " + (what.empty() ? "collective" : what)},
                    "which of the collective commands is not said", known_names_hint(what, {"predict", "compare"}));
}

}  // namespace shardsim
