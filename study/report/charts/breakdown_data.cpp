#include <algorithm>
#include <string>
#include <vector>

#include "study/report/charts/chart_data.h"

namespace shardsim {

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
                                                  "waiting",
                                                  "idle"};
  return kStack;
}

namespace {

// Parts of a bar below this share of the iteration are left out: they add up to less than 1e-9 of it.
constexpr double kLeastShare = 1e-11;

struct Part {
  std::string name, display_class;
  double ms = 0;
};

double sum_of(const std::vector<Part>& parts) {
  double sum = 0;
  for (const Part& part : parts) sum += part.ms;
  return sum;
}

void add(std::vector<Part>& parts, const std::string& name, const std::string& display_class, double ms) {
  const auto known = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.name == name; });
  if (known != parts.end()) {
    known->ms += ms;
  } else {
    parts.push_back({name, display_class, ms});
  }
}

void scale_to(std::vector<Part>& parts, double total) {
  const double now = sum_of(parts);
  for (Part& part : parts) part.ms *= now > 0 ? total / now : 0;
}

// Times by name are means over the ranks that run the operation, and operations of one rank may overlap; scaled to the
// mean over all ranks of the time in which any of them ran, they add up.
std::vector<Part> parts_of(const CaseResult& item) {
  std::vector<Part> compute, exposed;
  for (const NamedTime& time : item.times) {
    const std::string name = display_class(time.name, time.op_class);
    if (is_communication(time.op_class)) {
      add(exposed, name + " (transfer)", name, time.transfer_ms());
      add(exposed, name + " (waiting)", "waiting", time.waiting_ms);
    } else if (!is_host(time.op_class)) {
      add(compute, name, name, time.span_ms);
    }
  }
  if (!item.timeline.spans.empty()) {
    const RankTimes mean = mean_of(item.rank_times.empty() ? rank_times(item.timeline) : item.rank_times);
    scale_to(compute, mean.compute_ms);
    scale_to(exposed, mean.exposed_ms);
  }
  // The parts of a case of drawn batches are those of one iteration, which is not the mean one.
  const double whole = item.drawn ? item.timeline.iteration_ms : item.iteration_ms;
  const double idle = std::max(0.0, whole - sum_of(compute) - sum_of(exposed));
  compute.insert(compute.end(), exposed.begin(), exposed.end());
  compute.push_back({"idle", "idle", idle});
  return compute;
}

void add_case(DataSet& set, const CaseResult& item) {
  const std::vector<Part> parts = parts_of(item);
  const auto& order = stack_order();
  for (std::size_t place = 0; place < order.size(); ++place)
    for (const Part& part : parts)
      if (part.display_class == order[place] && part.ms >= kLeastShare * item.iteration_ms)
        set.rows.push_back({item.name, part.name, order[place], static_cast<double>(place), part.ms});
}

// Parts by class, as the eye is used to from the chart of what an iteration is made of; the host has no colour there.
void add_path(DataSet& set, const CaseResult& item) {
  const std::vector<std::string>& order = stack_order();
  for (std::size_t place = 0; place < order.size(); ++place) {
    for (const PathPart& part : item.why->parts) {
      const bool idle = part.op_class.empty() || is_host(part.op_class);
      const std::string shown = idle ? "idle" : display_class(part.operation, part.op_class);
      if (shown == order[place] && part.ms > 0)
        set.rows.push_back({item.name, part.operation, shown, static_cast<double>(place), part.ms});
    }
  }
}

}  // namespace

DataSet breakdown_parts(const StudyResult& study) {
  DataSet set{"parts", {"case", "part", "class", "order", "time_ms"}, {}};
  for (const CaseResult& item : study.cases) add_case(set, item);
  return set;
}

DataSet path_parts(const StudyResult& study) {
  DataSet set{"parts", {"case", "part", "class", "order", "time_ms"}, {}};
  for (const CaseResult& item : study.cases)
    if (item.why) add_path(set, item);
  return set;
}

}  // namespace shardsim
