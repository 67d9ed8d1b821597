#include <algorithm>
#include <map>
#include <vector>

#include "sim/report/chart_data.h"

namespace shardsim {

namespace {

// From the inside of a bar outwards: compute, then collectives, then the rest.
const std::vector<std::string>& stack_order() {
  static const std::vector<std::string> kStack = {"lookup",
                                                  "dense",
                                                  "update",
                                                  "global_all_to_all",
                                                  "intra_node_all_to_all",
                                                  "global_all_reduce",
                                                  "cross_node_all_reduce",
                                                  "input_all_to_all",
                                                  "other_collective",
                                                  "idle"};
  return kStack;
}

struct Parts {
  std::map<std::string, double> by_class;  // ms
  double sum() const {
    double result = 0;
    for (const auto& [name, time] : by_class) result += time;
    return result;
  }
  void scale_to(double total) {
    const double now = sum();
    for (auto& [name, time] : by_class) time *= now > 0 ? total / now : 0;
  }
};

RankTimes mean_times(const Timeline& timeline) {
  RankTimes mean;
  const std::vector<RankTimes> ranks = rank_times(timeline);
  for (const RankTimes& rank : ranks) {
    mean.compute_ms += rank.compute_ms / static_cast<double>(ranks.size());
    mean.exposed_ms += rank.exposed_ms / static_cast<double>(ranks.size());
  }
  return mean;
}

// Times by name are means over the ranks that run the operation, and operations of one rank may overlap; scaled to the
// mean over all ranks of the time in which any of them ran, they add up.
void split_time(const CaseResult& item, Parts& compute, Parts& exposed) {
  for (const NamedTime& time : item.times) {
    const std::string name = display_class(time.name, time.op_class);
    if (is_communication(time.op_class)) {
      exposed.by_class[name] += time.exposed_ms;
    } else {
      compute.by_class[name] += time.span_ms;
    }
  }
  if (item.timeline.spans.empty()) return;
  const RankTimes mean = mean_times(item.timeline);
  compute.scale_to(mean.compute_ms);
  exposed.scale_to(mean.exposed_ms);
}

void add_case(DataSet& set, const CaseResult& item) {
  Parts compute, exposed;
  split_time(item, compute, exposed);
  std::map<std::string, double> all = compute.by_class;
  all.insert(exposed.by_class.begin(), exposed.by_class.end());
  all["idle"] = std::max(0.0, item.iteration_ms - compute.sum() - exposed.sum());
  const auto& order = stack_order();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto found = all.find(order[i]);
    if (found == all.end() || found->second < 1e-6 * item.iteration_ms) continue;
    const bool collective = exposed.by_class.count(order[i]) > 0;
    set.rows.push_back(
        {item.name, order[i] + (collective ? " (exposed)" : ""), order[i], static_cast<double>(i), found->second});
  }
}

}  // namespace

DataSet breakdown_parts(const StudyResult& study) {
  DataSet set{"parts", {"case", "part", "class", "order", "time_ms"}, {}};
  for (const CaseResult& item : study.cases) add_case(set, item);
  return set;
}

}  // namespace shardsim
