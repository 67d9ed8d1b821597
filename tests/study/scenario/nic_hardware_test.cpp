// A NIC whose rate is changed stays the hardware that its fitted constants were measured on: no time jumps with the
// rate, and `why` and `run` say the same of it.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/tree/yaml.h"
#include "models/collective/collective_prediction.h"
#include "models/collective/fitted_overheads.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/named_tree.h"
#include "study/why/change.h"
#include "tests/study/scenario_text.h"

namespace shardsim::nic_hardware_test {

using namespace shardsim::test;

namespace {

constexpr double kRounding = 1e-9;  // relative
const std::vector<double> kFactors = {.9, .99, 1, 1.01, 1.1};

std::string text_of(Bandwidth rate) {
  return fmt::format("{} B/s", rate.bytes_per_second);
}

// A shipped cluster, of two nodes or NVLink domains at least: else its NICs carry nothing.
Tree shipped_tree(const std::string& name) {
  Tree tree = load_named(name, "clusters", "", {});
  const Tree* const hosts = tree.find("nodes");
  const int as_many = hosts == nullptr ? 1 : std::stoi(hosts->scalar);
  if (read_cluster(tree).nodes == 1) set_in_named(tree, "nodes", text_tree(std::to_string(2 * as_many)), "");
  // Channels that a file states are those of its own rate, and another one is refused beside them.
  if (const Tree* const graph = tree.find("graph"); graph != nullptr && graph->find("multi_node") != nullptr)
    set_in_named(tree, "graph.multi_node", text_tree("search"), "");
  return tree;
}

bool has_nics(const std::string& name) {
  return read_cluster(load_named(name, "clusters", "", {})).nics.has_value();
}

// As `--set cluster.nics.rate=` makes it.
ClusterSpec set_rate(const std::string& name, double factor) {
  Tree tree = shipped_tree(name);
  set_in_named(tree, "nics.rate", text_tree(text_of(factor * read_cluster(tree).nics->rate)), "");
  return with_fits(read_cluster(tree));
}

// As a file with another rate in the same place makes it.
ClusterSpec edited_rate(const std::string& name, double factor) {
  ClusterSpec spec = read_cluster(shipped_tree(name));
  spec.nics->rate = factor * spec.nics->rate;
  return with_fits(spec);
}

double seconds(const ClusterSpec& spec, CollectiveKind kind, std::int64_t bytes) {
  const Cluster cluster(spec);
  std::vector<int> ranks = all_ranks(std::min(cluster.world_size(), 2 * cluster.ranks_per_node()));
  return predict_collective({kind, bytes, nullptr, ranks, {}}, cluster).time.value;
}

// True when no time rises with the rate, nor falls by more than the rate rises.
bool moves_with_rate(const std::vector<double>& times) {
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const double faster = times[i] / times[i + 1];
    if (faster < 1 - kRounding || faster > kFactors[i + 1] / kFactors[i] * (1 + kRounding)) return false;
  }
  return true;
}

std::optional<Bandwidth> kept_rate(const std::string& cluster) {
  return read(fmt::format(
                  "schema: shardsim.scenario/1\ncluster: {}\nworkload: toy_history\nplanner: {{name: row_wise}}\n",
                  cluster))
      .cases[0]
      .cluster.nics->hardware_rate;
}

const std::string kTwoNodes = R"(
schema: shardsim.scenario/1
cluster: {base: hgx_h100_8x400g, nodes: 2}
workload: {base: toy_history, batch_per_gpu: 4096}
planner: {name: row_wise}
)";

double simulated(const Scenario& scenario, const Case& item) {
  Cluster cluster = cluster_of(item);
  Plan plan = make_plan(item, cluster, scenario.seed, {});
  const PreparedCase prepared(scenario, item, std::move(cluster), std::move(plan));
  return simulated_ms(prepared);
}

}  // namespace

TEST_CASE("on no shipped cluster a time jumps where the rate of its NICs changes by a hundredth or a tenth") {
  std::size_t clusters = 0;
  for (const std::string& name : shipped("clusters")) {
    if (!has_nics(name)) continue;
    CAPTURE(name);
    ++clusters;
    for (const auto& changed : {set_rate, edited_rate}) {
      const ClusterSpec as_shipped = changed(name, 1);
      for (const double factor : kFactors) CHECK(changed(name, factor).overheads == as_shipped.overheads);
      for (const std::int64_t bytes : {1LL << 16, 1LL << 24, 1LL << 30}) {
        CAPTURE(bytes);
        std::vector<double> times;
        for (const double factor : kFactors)
          times.push_back(seconds(changed(name, factor), CollectiveKind::all_to_all, bytes));
        CHECK(moves_with_rate(times));
      }
    }
  }
  CHECK(clusters > 30);
}

TEST_CASE("a file's fitted constants do not jump with the rate that it states") {
  double before = 0;
  for (double gbit = 100; gbit <= 800; gbit *= 1.001) {
    CAPTURE(gbit);
    ClusterSpec spec = read_cluster(shipped_tree("hgx_h100_8x400g"));
    spec.nics->rate = {gbit * 125e6};
    const double share = *with_fits(spec).overheads.at("all_to_all").across_nodes.nic_efficiency;
    if (before > 0) CHECK(share >= before);
    if (before > 0) CHECK(share < before * 1.001);
    before = share;
  }
  // The two measured rates have their own constants, and so have NICs a little below them.
  const auto share_at = [](double gbit) {
    ClusterSpec spec = read_cluster(shipped_tree("hgx_h100_8x400g"));
    spec.nics->rate = {gbit * 125e6};
    return *with_fits(spec).overheads.at("all_to_all").across_nodes.nic_efficiency;
  };
  CHECK(share_at(200) == share_at(100));
  CHECK(share_at(200) == share_at(220));
  CHECK(share_at(360) == share_at(400));
  CHECK(share_at(399) == share_at(400));
  CHECK(share_at(200) < share_at(300));
  CHECK(share_at(300) < share_at(400));
}

TEST_CASE("a constant between two pieces of evidence says that it is of both") {
  ClusterSpec spec = read_cluster(shipped_tree("hgx_h100_8x400g"));
  spec.nics->rate = {300 * 125e6};
  const auto systems_of = [](const ClusterSpec& of) {
    const auto sources = with_fits(of).sources;
    const auto found =
        std::ranges::find(sources, "overheads.all_to_all.across_nodes.nic_efficiency", &SourcedValue::path);
    return std::set<std::string>(found->fitted_on.begin(), found->fitted_on.end());
  };
  const auto between = systems_of(spec);
  spec.nics->rate = {400 * 125e6};
  const auto fast = systems_of(spec);
  spec.nics->rate = {200 * 125e6};
  const auto slow = systems_of(spec);
  CHECK(between.size() == fast.size() + slow.size());
  CHECK(std::ranges::includes(between, fast));
  CHECK(std::ranges::includes(between, slow));
}

TEST_CASE("NICs whose rate alone is changed keep their kind, and other NICs do not") {
  const Bandwidth fast{50e9};
  CHECK(read(kTwoNodes, set("cluster.nics.rate", "200 Gbit/s")).cases[0].cluster.nics->hardware_rate == fast);
  CHECK(kept_rate("{base: hgx_h100_8x400g, nics: {rate: 200 Gbit/s}}") == fast);
  CHECK_FALSE(kept_rate("{base: hgx_h100_8x400g, nics: {rate: 200 Gbit/s, transport: roce}}"));
  CHECK_FALSE(kept_rate("{base: hgx_h100_8x400g, name: other, nics: {rate: 200 Gbit/s}}"));
  CHECK_FALSE(kept_rate("hgx_h100_8x400g"));
  CHECK(kept_rate("{base: hgx_h100_8x400g, nics: {rate: 200 Gbit/s, hardware_rate: 200 Gbit/s}}") == Bandwidth{25e9});
  CHECK_FALSE(
      read(kTwoNodes, set("cluster.nics", "{per_gpu: 1, rate: 200 Gbit/s}")).cases[0].cluster.nics->hardware_rate);
  const Scenario axis = read(kTwoNodes, set("cluster.nics.rate", "200 Gbit/s"));
  CHECK(axis.cases[0].cluster.overheads == read(kTwoNodes).cases[0].cluster.overheads);
}

TEST_CASE("changed NICs are told where NICs of that rate would have other constants") {
  const auto told = [](const std::string& rate) {
    const std::vector<std::string> notes =
        cluster_notes(read(kTwoNodes, set("cluster.nics.rate", rate)).cases[0].cluster);
    return std::ranges::any_of(
        notes, [](const std::string& note) { return note.find("nics.hardware_rate") != std::string::npos; });
  };
  CHECK(told("200 Gbit/s"));
  CHECK_FALSE(told("390 Gbit/s"));
  CHECK_FALSE(told("800 Gbit/s"));
}

TEST_CASE("what why says of other NICs is what a run of them takes, to the last digit") {
  const Scenario scenario = read(kTwoNodes);
  for (const double factor : {.5, .9, .99, 1.01, 1.1, 2.}) {
    CAPTURE(factor);
    const ChangedCase changed = changed_case(scenario.cases[0], {Lever::nics, factor});
    Overrides overrides;
    for (const std::string& setting : changed.settings) {
      const std::size_t equals = setting.find('=');
      overrides.set.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    REQUIRE(overrides.set.size() == 1);
    const Scenario run = read(kTwoNodes, overrides);
    const double ms = simulated(run, run.cases[0]);
    CHECK(simulated(scenario, changed.item) == ms);
    CHECK((ms > simulated(scenario, scenario.cases[0])) == (factor < 1));
  }
}

}  // namespace shardsim::nic_hardware_test
