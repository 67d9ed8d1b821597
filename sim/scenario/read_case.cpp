#include "sim/scenario/read_case.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/map_reader.h"
#include "base/text.h"
#include "models/collective/collective.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/compute_model.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "sim/engine/network.h"
#include "sim/scenario/read_published.h"
#include "sim/scenario/torchrec_rules.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostIterations = 10000;

const Tree& required_part(const CaseTree& tree, const char* key) {
  if (const Tree* const part = tree.keys.find(key)) return *part;
  throw input_error(tree.place, fmt::format("case {} has no {}", excerpt(tree.name), key),
                    fmt::format("Write '{}: ...' at the top level or in the case", key));
}

Tree model_map(MapReader& reader, const char* key) {
  const Tree& tree = reader.required(key);
  if (tree.kind == Tree::Kind::map) return tree;
  throw input_error(tree.place, fmt::format("'{}' is {}, not a map", key, kind_name(tree.kind)),
                    fmt::format("Write '{}: {{name: ...}}'", key));
}

std::string read_plan_file_name(MapReader& reader) {
  MapReader plan = reader.map("plan");
  const std::string file = plan.text("file");
  plan.finish();
  return file;
}

void read_planner(MapReader& reader, const CaseTree& tree, Case& item) {
  const bool planned = reader.has("planner");
  const bool filed = reader.has("plan");
  if (planned == filed) {
    throw input_error(
        tree.place, fmt::format("case {} has {}", excerpt(tree.name), planned ? "a planner and a plan" : "no planner"),
        "Write either 'planner: {name: ...}' or 'plan: {file: ...}'");
  }
  if (planned) {
    item.planner = model_map(reader, "planner");
  } else {
    item.plan_file = read_plan_file_name(reader);
  }
}

std::vector<std::string> algorithms_for(CollectiveKind kind) {
  std::vector<std::string> names{"auto"};
  for (const CollectiveEntry& entry : collective_algorithms()) {
    if (entry.make()->supports(kind)) names.emplace_back(entry.name);
  }
  return names;
}

std::map<std::string, std::string> read_algorithms(MapReader reader) {
  std::map<std::string, std::string> algorithms;
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const std::string key(collective_kind_name(kind));
    if (reader.has(key)) algorithms[key] = reader.choice(key, algorithms_for(kind));
  }
  reader.finish();
  return algorithms;
}

// Alone, a case is steady soon; jobs of different lengths meet differently in each iteration.
int read_iterations(MapReader& reader, bool job) {
  const std::int64_t iterations = reader.count("iterations", job ? 20 : 4);
  if (iterations > kMostIterations) {
    throw input_error(reader.place_of("iterations"), fmt::format("{} iterations", iterations),
                      fmt::format("Write at most {}", kMostIterations));
  }
  return static_cast<int>(iterations);
}

double read_steady(MapReader& reader) {
  const double steady = reader.real("steady", 1e-6);
  if (!(steady > 0)) {
    throw input_error(reader.place_of("steady"), "'steady' is not above 0", "Write for example 1e-6");
  }
  return steady;
}

void read_options(MapReader& reader, bool job, Case& item) {
  item.compute_model = model_map(reader, "compute_model");
  item.memory_model = model_map(reader, "memory_model");
  item.network = model_map(reader, "network");
  item.algorithms = read_algorithms(reader.map("collectives"));
  item.overlap = reader.flag("overlap", true);
  item.iterations = read_iterations(reader, job);
  item.steady = read_steady(reader);
  item.payload_both = reader.choice("payload", {"both", "planned"}, "both") == "both";
  item.relative_to = reader.text("relative_to", "");
  if (const Tree* const published = reader.value("published")) item.published = read_published(*published);
}

JobPart read_job(const CaseTree& tree, const ClusterSpec& cluster) {
  MapReader reader(*tree.job, "");
  JobPart job;
  job.fabric = tree.fabric;
  job.nodes = read_node_set(reader.required("nodes"), cluster.nodes);
  job.start = reader.time("start", Seconds{});
  job.nodes_place = reader.place_of("nodes");
  job.start_place = reader.place_of("start");
  return job;
}

std::string noun_of(const Case& item) {
  return item.job ? "job" : "case";
}

bool is_name_part(const std::string& part) {
  const bool good = std::ranges::all_of(part, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
  return good && !part.empty() && part.size() <= 128 && part != "." && part != "..";
}

}  // namespace

Case read_case(const CaseTree& tree) {
  Case item;
  item.name = tree.name;
  item.place = tree.place;
  item.changed = tree.changed;
  item.cluster = with_fits(read_cluster(required_part(tree, "cluster")));
  item.workload = read_workload(required_part(tree, "workload"), "");
  MapReader reader(tree.keys, "");
  read_planner(reader, tree, item);
  read_options(reader, tree.job.has_value(), item);
  share_torchrec_rules(item.planner, item.memory_model);
  if (tree.job) item.job = read_job(tree, item.cluster);
  return item;
}

Case read_again(const CaseTree& tree, Case before) {
  before.name = tree.name;
  MapReader reader(tree.keys, "");
  read_planner(reader, tree, before);
  return before;
}

void validate_names(const Case& item) {
  if (item.plan_file.empty()) make_planner(item.planner);
  make_compute_model(item.compute_model);
  make_memory_model(item.memory_model);
  make_network(item.network);
}

void check_case_names(const std::vector<Case>& cases) {
  std::vector<std::pair<std::string, const Case*>> sorted;
  for (const Case& item : cases) {
    const bool good = item.name.size() <= 256 && std::ranges::all_of(split(item.name, '/'), is_name_part);
    if (!good) {
      throw input_error(item.place, fmt::format("{} is no name of a {}", excerpt(item.name), noun_of(item)),
                        "Parts of a-z, 0-9, '_', '.' and '-' joined by '/'; a part is never '.' or '..'");
    }
    if (item.name == "all") {
      throw input_error(item.place, "a case is named 'all'", "Choose another name: --trace all means every case");
    }
    sorted.emplace_back(item.name + "/", &item);
  }
  std::ranges::stable_sort(sorted, {}, &std::pair<std::string, const Case*>::first);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto& [name, item] = sorted[i - 1];
    const auto& [next_name, next] = sorted[i];
    if (!next_name.starts_with(name)) continue;
    const std::string wrong = next_name == name ? "two cases are named " + excerpt(item->name)
                                                : fmt::format("case {} begins with the name of case {}",
                                                              excerpt(next->name), excerpt(item->name));
    throw input_error(next->place, wrong, "Names become folders: none may be another's or lie inside it");
  }
}

void check_jobs(const std::vector<Case>& cases) {
  std::map<std::pair<std::string, int>, const Case*> owners;  // (fabric, node)
  for (const Case& item : cases) {
    if (!item.job) continue;
    for (const int node : item.job->nodes) {
      const auto entry = owners.try_emplace({item.job->fabric, node}, &item).first;
      if (entry->second == &item) continue;
      throw input_error(item.job->nodes_place,
                        fmt::format("node {} belongs to job {} already", node, excerpt(entry->second->name)),
                        "Give each job nodes of its own");
    }
  }
}

void check_baselines(const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const Case& item : cases) names.insert(item.name);
  for (const Case& item : cases) {
    const bool gain = std::ranges::any_of(
        item.published, [](const Published& published) { return published.quantity == "throughput_gain"; });
    if (item.relative_to.empty()) {
      if (!gain) continue;
      throw input_error(item.place, fmt::format("case {} publishes a throughput_gain over nothing", excerpt(item.name)),
                        "Write 'relative_to: CASE'");
    }
    if (item.relative_to == item.name) {
      throw input_error(item.place, fmt::format("case {} is relative to itself", excerpt(item.name)),
                        "Name another case in 'relative_to'");
    }
    if (!names.contains(item.relative_to)) {
      throw input_error(
          item.place,
          fmt::format("case {} is relative to unknown case {}", excerpt(item.name), excerpt(item.relative_to)),
          known_names_hint(item.relative_to, {names.begin(), names.end()}));
    }
  }
}

}  // namespace shardsim
