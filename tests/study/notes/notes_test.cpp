#include <doctest/doctest.h>

#include "models/software/software.h"
#include "plan/sharding_groups.h"
#include "tests/physics/lab.h"
#include "tests/study/notes/note_named.h"

namespace shardsim::notes_test {

namespace {

bool holds(const std::vector<std::string>& notes, const std::string& part) {
  for (const std::string& note : notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

Case on_toy() {
  Case item;
  item.cluster = physics::cluster_spec("toy_2x4.yaml");
  item.compute_model = named_map("roofline");
  return item;
}

std::vector<std::string> notes_of(const CaseResult& result, const Case& item = on_toy(), const Plan& plan = {}) {
  const Scenario scenario;
  const PreparedCase prepared(scenario, item, Cluster(item.cluster), plan);
  Notes notes;
  for (const NoteEntry& entry : note_entries()) {
    if (entry.name == "sound_cluster") break;  // from here on the case is simulated once more
    if (!entry.is_for(Asker::run)) continue;
    for (const std::string& note : entry.make({item, &prepared, &result}))
      if (!note.empty()) notes.push_back(note);
  }
  return notes;
}

CaseResult unsteady() {
  CaseResult result;
  result.iteration_ms = 50;
  result.timeline.steady = false;
  return result;
}

}  // namespace

TEST_CASE("every note has a name of its own and somebody who asks for it") {
  std::set<std::string_view> names;
  for (const NoteEntry& entry : note_entries()) {
    CAPTURE(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK(entry.askers != 0);
  }
}

TEST_CASE("a run and a sweep say of one case the same sentence, a run only where it matters to its iteration") {
  Case item = on_toy();
  item.cluster.gpu.model = shipped_gpu_table().names().front();
  item.compute_model = physics::named("roofline");
  const Notes of_sweep = notes_for(Asker::sweep, {item});
  REQUIRE_FALSE(of_sweep.empty());
  const std::string& of_model = of_sweep.back();
  CHECK(of_model.find("Lookups and updates are timed by the compute model 'roofline'") == 0);
  CaseResult result = unsteady();
  CHECK_FALSE(holds(notes_of(result, item), of_model));
  NamedTime lookup;
  lookup.op_class = "lookup";
  lookup.span_ms = 10;
  result.times = {lookup};
  CHECK(holds(notes_of(result, item), of_model));
}

TEST_CASE("a note on iterations that differ says by how much") {
  CaseResult result = unsteady();
  result.timeline.iterations_run = 4;
  result.last_change = 0.0123;
  CHECK(holds(notes_of(result), "Not steady after 4 iterations: the last one, which is shown, differs by +1.2 %"));
  result.last_change = -0.5;
  CHECK(holds(notes_of(result), "differs by -50 % from the one before it"));
  result.last_change.reset();
  CHECK(holds(notes_of(result), "Only one iteration was simulated"));
  result.timeline.steady = true;
  CHECK(notes_of(result).empty());
}

TEST_CASE("a published operation that the case does not have is told, with those that it has") {
  CaseResult result = unsteady();
  result.timeline.steady = true;
  NamedTime time;
  time.name = "lookup_row_wise";
  result.times = {time};
  Case item = on_toy();
  item.published.resize(1);
  item.published[0].quantity = "operation:lookup_row_wise";
  CHECK(notes_of(result, item).empty());
  item.published[0].quantity = "operation:lookup_rowwise";
  CHECK(holds(notes_of(result, item),
              "'operation:lookup_rowwise' is published, and no operation of this case has that "
              "name. Did you mean 'lookup_row_wise'?"));
}

TEST_CASE("a note on a fabric that collapses says how much of the iteration is at stake") {
  CaseResult result = unsteady();
  result.timeline.steady = true;
  NamedTime time;
  time.op_class = "all_to_all";
  time.exposed_ms = 6;
  time.waiting_ms = 1;
  result.times = {time, time};
  Case item = on_toy();
  CHECK(notes_of(result, item).empty());
  item.cluster.fabric.collapse = true;
  CHECK(holds(notes_of(result, item), "the 10.00 ms (20 % of the iteration)"));
}

// Eight ranks; the small table's hottest row is nearly all of it, but hardly anything of what is read.
TEST_CASE("the note on skew names the table whose skew costs most, and advises tiers where there can be some") {
  const Workload workload = read_workload(parse_yaml(R"(
schema: shardsim.workload/1
name: two_tables
batch_per_gpu: 32
tables:
  - {name: small, kind: pooled, rows: 300, dim: 4, pooling_factor: 1, access: {family: zipf, s: 3}}
  - {name: large, kind: pooled, rows: 100000, dim: 128, pooling_factor: 50, access: {family: zipf, s: 1.2}}
)",
                                                     "two_tables"),
                                          "");
  Case item = on_toy();
  item.workload = workload;
  item.load.row_shares = LoadOptions::RowShares::even;
  Plan plan;
  for (int table = 0; table < 2; ++table) {
    Placement placement;
    placement.table = table;
    placement.strategy = Strategy::row_wise;
    placement.row_end = workload.tables[static_cast<std::size_t>(table)].rows;
    placement.column_end = workload.tables[static_cast<std::size_t>(table)].dim;
    placement.holders = {{0, 1, 2, 3, 4, 5, 6, 7}};
    plan.placements.push_back(placement);
  }
  CaseResult result = unsteady();
  result.timeline.steady = true;
  NamedTime lookup;
  lookup.name = "lookup_row_wise";
  lookup.span_ms = 10;
  result.times = {lookup};
  const std::vector<std::string> notes = notes_of(result, item, plan);
  CHECK(holds(notes, "The most popular row-wise row of table 'large'"));
  CHECK(holds(notes, "This also holds for: 1 row-wise table."));
  CHECK_FALSE(holds(notes, "Replicating its most popular rows"));
}

TEST_CASE("a note names what a planner or a plan file states to no effect on the run") {
  CaseResult result = unsteady();
  result.timeline.steady = true;
  Case item = on_toy();
  Table table;
  table.name = "history";
  item.workload.tables = {table};
  item.planner = parse_yaml("{name: torchrec, constraints: {\"*\": {output_dtype: fp16}}}", "planner");
  CHECK(holds(notes_of(result, item), "which differs (history as fp32)"));
  item.workload.wire_forward = WireDtype{Dtype::fp16};
  CHECK(notes_of(result, item).empty());
  Plan plan;
  plan.idle_caches = {0};
  item.plan_file = "plan.json";
  CHECK(holds(notes_of(result, item, plan), "cache_params of the plan file have no effect"));
}

namespace {

// A case of one pooled table, without a dense part.
Case of_one_table(const std::string& more = "") {
  Case item = on_toy();
  item.workload =
      read_workload(parse_yaml("schema: shardsim.workload/1\nname: one\nbatch_per_gpu: 32\n" + more +
                                   "tables:\n  - {name: a, kind: pooled, rows: 4096, dim: 64, pooling_factor: 4}\n",
                               "one"),
                    "");
  return item;
}

// `note`: of which. Of sharding groups the plan is that of one.
Notes idle_keys_of(const Case& item, Strategy strategy, const std::string& kernel = "fused",
                   const std::string& note = "idle_keys") {
  const Scenario scenario;
  std::vector<std::vector<int>> holders = {{0}};
  if (strategy == Strategy::row_wise || strategy == Strategy::data_parallel) holders = {{0, 1, 2, 3, 4, 5, 6, 7}};
  const auto groups = GroupedWorld::of(item.workload, Cluster(item.cluster));
  if (groups && holders.front().size() > 1) holders = {all_ranks(groups->cluster().world_size())};
  Placement placement = whole_table(0, item.workload.tables[0], strategy, holders);
  placement.compute_kernel = kernel;
  Plan plan;
  plan.placements = {placement};
  if (groups) plan = groups->of_world(plan);
  const PreparedCase prepared(scenario, item, Cluster(item.cluster), plan);
  Notes notes = note_named(note, {item, &prepared});
  std::erase(notes, "");
  return notes;
}

}  // namespace

TEST_CASE("output_exchange and cache_policy say so where no table of the plan has a use for them") {
  const Case exchange = of_one_table("output_exchange: uniform\n");
  CHECK(holds(idle_keys_of(exchange, Strategy::table_wise), "output_exchange of 'one' has no effect here"));
  CHECK_FALSE(holds(idle_keys_of(exchange, Strategy::row_wise), "output_exchange"));
  const Case cache = of_one_table("cache_policy: lfu\n");
  CHECK(holds(idle_keys_of(cache, Strategy::table_wise), "cache_policy of 'one' has no effect here"));
  CHECK_FALSE(holds(idle_keys_of(cache, Strategy::table_wise, "fused_uvm_caching"), "cache_policy"));
}

TEST_CASE("keys of TorchRec's parts of an iteration say so where the plan has no use for them") {
  const auto said = [](const std::string& more, Strategy strategy, const std::string& kernel = "fused") {
    const Case item = of_one_table("input_exchange: full\ndense: {layers: [{name: top, in: 64, out: 1}]}\n" + more);
    return idle_keys_of(item, strategy, kernel, "idle_torchrec_keys");
  };
  const std::string stash = "stash: {restore_at: top}\n";
  CHECK(holds(said(stash, Strategy::table_wise, "fused_uvm"), "stash of 'one' has no effect here"));
  CHECK(holds(said(stash, Strategy::table_wise, "fused_uvm_caching"), "stash of 'one' has no effect here"));
  CHECK(holds(said(stash, Strategy::data_parallel), "stash of 'one' has no effect here"));
  CHECK_FALSE(holds(said(stash, Strategy::table_wise), "stash"));
  CHECK(holds(said("sharding_groups: {size: 8}\n", Strategy::row_wise), "one group is the whole world"));
  CHECK(holds(said("sharding_groups: {size: 4}\n", Strategy::data_parallel), "every table is data_parallel"));
  const std::string sgd = "optimizer: {name: sgd}\n";
  CHECK(holds(said(sgd + "sharding_groups: {size: 4, sync_states: true}\n", Strategy::row_wise),
              "sharding_groups.sync_states of 'one' has no effect here"));
  CHECK(said(sgd + "sharding_groups: {size: 4, sync_states: false}\n", Strategy::row_wise).empty());
  CHECK(said("sharding_groups: {size: 4, sync_states: true}\n", Strategy::table_wise).empty());
  CHECK(holds(said("modules: {exchanges: each}\n", Strategy::row_wise), "modules.exchanges of 'one' has no effect"));
  const std::string codec = "wire_dtype: {forward: fp16, backward: fp16, kernels: true}\n";
  CHECK(holds(said(codec, Strategy::data_parallel), "wire_dtype.kernels of 'one' has no effect here"));
  CHECK_FALSE(holds(said(codec, Strategy::row_wise), "wire_dtype"));
}

// The launches of TorchRec's modules are in the times of the modules: without a dense part there are no others.
TEST_CASE("times of the software that no operation takes say so") {
  const auto with_launch = [](const std::string& dense) {
    Case item = of_one_table(dense);
    item.software = software_from_tree(parse_yaml("{name: torchrec_eager, launch: 900 us}", "t"), shipped_software());
    return item;
  };
  CHECK(holds(idle_keys_of(with_launch(""), Strategy::table_wise), "launch of 'torchrec_eager' has no effect here"));
  const std::string dense = "dense: {layers: [{name: top, in: 64, out: 1}]}\n";
  CHECK_FALSE(holds(idle_keys_of(with_launch(dense), Strategy::table_wise), "launch of"));
}

}  // namespace shardsim::notes_test
