#include "study/scenario/read_case.h"

#include <fmt/core.h>

#include <map>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "models/collective/collective.h"
#include "models/collective/fitted_overheads.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "models/load/batch_draws.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "sim/engine/network.h"
#include "study/scenario/read_planner.h"
#include "study/scenario/read_software.h"
#include "study/scenario/traced_dense.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostIterations = 10000;
constexpr std::int64_t kMostExplained = 1000;
constexpr std::int64_t kMostDrawnBatches = 1 << 18;  // of one rank and iteration; what these take is kept of all

const Tree& required_part(const CaseTree& tree, const char* key) {
  if (const Tree* const part = tree.keys.find(key)) return *part;
  throw input_error(tree.place, fmt::format("case {} has no {}", excerpt(tree.name), key),
                    fmt::format("Write '{}: ...' at the top level or in the case", key));
}

std::vector<std::string> algorithms_for(CollectiveKind kind) {
  std::vector<std::string> names{"auto"};
  for (const CollectiveEntry& entry : collective_algorithms()) {
    if (entry.supports(kind)) names.emplace_back(entry.name);
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
  return static_cast<int>(reader.count("iterations", Bounds::from(1).to(kMostIterations), job ? 20 : 4));
}

// A number that the scenario states holds; else a case that is not steady by then runs on.
int most_iterations(MapReader& reader, const Case& item, bool job) {
  constexpr int kMostUnsteady = 32;
  return job || reader.has("iterations") ? item.iterations : kMostUnsteady;
}

double read_steady(MapReader& reader) {
  return reader.get<double>(
      "steady", real_leaf(Bounds::above(0).below(1), "it is a relative difference, for example 1e-6"), 1e-6);
}

// Returns whether the case is simulated at the observed payload, too, where its workload states one.
bool read_payload(MapReader& reader, const Workload& workload) {
  const bool both = reader.choice("payload", {"both", "planned"}, "both") == "both";
  if (!both || !reader.has("payload") || workload.has_runtime()) return both;
  throw input_error(reader.place_of("payload"),
                    fmt::format("'payload: both' has no effect: no table of workload {} states what was observed",
                                excerpt(workload.name)),
                    "Write 'runtime' in its tables, or leave 'payload' out");
}

// Drawn batches run as many iterations as `load` says, steady or not.
void refuse_idle_keys(MapReader& reader) {
  for (const char* const key : {"iterations", "steady"}) {
    if (!reader.has(key)) continue;
    throw input_error(reader.place_of(key), fmt::format("'{}' has no effect when batches are drawn", key),
                      "Leave it out; 'load.iterations' says how many are simulated");
  }
}

// Lengths whose mean is what their numbers say cannot have the observed mean, too.
void refuse_stated_lengths(const Table& table, const Place& place) {
  const std::string& family = table.lengths.family;
  if (!table.runtime || (family != "uniform_int" && family != "histogram")) return;
  throw input_error(
      place,
      fmt::format(
          "lengths of the family {} hold for only one payload, but table {} states a planned and an observed one",
          excerpt(family), excerpt(table.name)),
      "Add 'payload: planned'");
}

// Refuses what drawn batches cannot be simulated for.
void check_drawn(MapReader& reader, bool job, const Case& item) {
  const Place place = reader.place_of("load");
  if (job) {
    throw input_error(place, "batches cannot be drawn for 'jobs'", "Say 'load: {batches: expected}'");
  }
  refuse_idle_keys(reader);
  const std::int64_t ranks = static_cast<std::int64_t>(item.cluster.nodes) * item.cluster.gpu.count;
  if (ranks > kMostDrawnRanks) {
    throw input_error(place, fmt::format("batches cannot be drawn for {} ranks", ranks),
                      fmt::format("Say 'load: {{batches: expected}}' above {} ranks", kMostDrawnRanks));
  }
  if (item.load.iterations * ranks > kMostDrawnBatches) {
    throw input_error(place, fmt::format("{} drawn iterations of {} ranks", item.load.iterations, ranks),
                      fmt::format("Give 'load.iterations' of at most {}", kMostDrawnBatches / ranks));
  }
  for (const Table& table : item.workload.tables) {
    for (const Feature& feature : table.features) table.length_law(feature);  // refuses lengths of a file
    if (item.payload_both) refuse_stated_lengths(table, place);
  }
}

LoadOptions read_load(MapReader& reader, std::uint64_t seed) {
  LoadOptions before;
  before.seed = seed;
  return read_load_options(reader.map("load"), before);
}

void read_options(MapReader& reader, bool job, std::uint64_t seed, Case& item) {
  item.compute_model = read_compute_model(reader, item);
  read_software(reader, item);
  give_family(item);
  item.memory_model = model_map(reader, "memory_model");
  item.network = model_map(reader, "network");
  item.algorithms = read_algorithms(reader.map("collectives"));
  item.overlap = reader.flag("overlap", true);
  item.iterations = read_iterations(reader, job);
  item.most_iterations = most_iterations(reader, item, job);
  item.steady = read_steady(reader);
  item.payload_both = read_payload(reader, item.workload);
  item.load = read_load(reader, seed);
  if (item.load.drawn()) check_drawn(reader, job, item);
  item.relative_to = reader.text("relative_to", "");
  if (const Tree* const constraints = reader.value("constraints")) {
    item.constraints = read_constraints(*constraints);
    check_constraint_names(item.constraints, item.workload, item.cluster.device);
  }
  if (const Tree* const published = reader.value("published")) item.published = read_published(*published);
}

JobPart read_job(const CaseTree& tree, const ClusterSpec& cluster) {
  MapReader reader(*tree.job, "");
  JobPart job;
  job.nodes = read_node_set(reader.required("nodes"), cluster.nodes);
  job.start = reader.time("start", Seconds{});
  job.nodes_place = reader.place_of("nodes");
  job.start_place = reader.place_of("start");
  return job;
}

}  // namespace

ClusterSpec read_case_cluster(const CaseTree& tree) {
  return with_fits(read_cluster(required_part(tree, "cluster")));
}

Workload read_case_workload(const CaseTree& tree) {
  std::vector<std::string> notes;
  Workload workload = read_workload(with_traced_dense(required_part(tree, "workload"), notes), "");
  if (workload.dense.measured) workload.dense.measured->notes = std::move(notes);
  return workload;
}

Case read_case(const CaseTree& tree, std::uint64_t seed) {
  ClusterSpec cluster = read_case_cluster(tree);  // before the workload: what is missing is told in this order
  return read_case(tree, seed, std::move(cluster), read_case_workload(tree));
}

Case read_case(const CaseTree& tree, std::uint64_t seed, ClusterSpec cluster, Workload workload) {
  Case item;
  item.name = tree.name;
  item.place = tree.place;
  item.name_place = tree.name_place;
  item.changed = tree.changed;
  item.compared = tree.compared;
  item.cluster = std::move(cluster);
  item.workload = std::move(workload);
  MapReader reader(tree.keys, "");
  read_planner(reader, tree, item);
  read_options(reader, tree.job.has_value(), seed, item);
  share_rules(tree, item);
  if (tree.job) item.job = read_job(tree, item.cluster);
  return item;
}

void check_replaced(const Tree& keys) {
  CaseTree tree;
  tree.keys = keys;
  if (keys.find("cluster") != nullptr) read_case_cluster(tree);
  if (keys.find("workload") != nullptr) read_case_workload(tree);
  MapReader reader(tree.keys, "");
  const auto named = [&](const char* key, auto make) {
    if (!reader.has(key)) return;
    if (const Tree model = model_map(reader, key); model.find("name") != nullptr) make(model);
  };
  named("compute_model", [](const Tree& model) { make_compute_model(model); });
  named("memory_model", [](const Tree& model) { make_memory_model(model); });
  named("network", [](const Tree& model) { make_network(model); });
  if (const Tree* const software = reader.value("software"); software != nullptr && software->kind == Tree::Kind::map)
    software_from_tree(*software, shipped_software());
  if (reader.has("collectives")) read_algorithms(reader.map("collectives"));
  if (reader.has("load")) read_load(reader, 0);
  if (const Tree* const constraints = reader.value("constraints")) read_constraints(*constraints);
  if (reader.has("plan")) read_plan_file_name(reader);
  reader.flag("overlap", true);
  read_iterations(reader, false);
  read_steady(reader);
  reader.choice("payload", {"both", "planned"}, "both");
}

Case read_again(const CaseTree& tree, Case before) {
  before.name = tree.name;
  before.compared = tree.compared;
  MapReader reader(tree.keys, "");
  read_planner(reader, tree, before);
  share_rules(tree, before);
  return before;
}

void validate_planner(const Case& item) {
  const bool unasked = item.compared && item.compared->unasked;
  if (item.plan_file.empty() && !unasked) make_planner(item.planner);
}

// Where lookups go table by table, FBGEMM's kernels refuse other columns, and so does every plan of them.
void check_columns_of_tables(const Case& item) {
  if (!has_kernel_family(item.compute_model) || holds_embeddings(item.workload.dense)) return;
  for (const Table& table : item.workload.tables) check_columns(table, kernel_family_name(item.compute_model));
}

void validate_names(const Case& item) {
  validate_planner(item);
  make_compute_model(item.compute_model);
  check_columns_of_tables(item);
  if (is_learned(item.compute_model))
    check_learned(learned_costs_of(item.compute_model).get(), item.compute_model, item.cluster.gpu, item.workload);
  make_memory_model(item.memory_model);
  make_network(item.network);
}

CrossCheckOptions read_cross_check(const Tree& map) {
  note_part(map, "cross_check");
  note_form(map, stated_map());
  if (map.kind != Tree::Kind::map) {
    throw input_error(map.place, fmt::format("'cross_check' must be a map, but is {}", kind_name(map.kind)),
                      "Write 'cross_check: {worst: 5}', or {} for the defaults");
  }
  MapReader reader(map, "cross_check");
  CrossCheckOptions options;
  options.place = map.place;
  options.worst = static_cast<std::size_t>(reader.count("worst", Bounds::from(1).to(kMostExplained), 5));
  options.version = torchrec::read_version(reader);
  options.topology = torchrec::read_topology_options(reader.map("topology"), options.version);
  reader.finish();
  return options;
}

}  // namespace shardsim
