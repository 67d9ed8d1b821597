#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "models/learned/cost_model.h"
#include "models/learned/table_features.h"
#include "tests/base/error_text.h"
#include "tests/models/learned/small_pool.h"
#include "tests/models/workload_text.h"
#include "tests/temporary_folder.h"

namespace shardsim::learned_compute_test {
namespace {

constexpr double kSamples = 16'384;

GpuSpec gpu_of(const char* name) {
  return spec_of(*shipped_gpu_table().find(name));
}

Workload workload_of(const std::string& table = "rows: 1000000, dim: 64, kind: pooled, pooling_factor: 20",
                     const std::string& optimizer = "rowwise_adagrad") {
  return parsed("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 16384\noptimizer: {name: " + optimizer +
                "}\ntables:\n- {name: a, " + table + ", access: {family: zipf, s: 1.05}}\n" +
                "- {name: b, rows: 300, dim: 8, kind: pooled, pooling_factor: 1, access: {family: uniform}}\n");
}

// The work on the table of one rank that holds `part` of its rows.
TableWork work_of(const Table& table, double part = 1, double samples = kSamples) {
  const AccessDistribution access = table.distribution();
  TableWork work;
  work.rows = part * static_cast<double>(table.rows);
  work.columns = static_cast<double>(table.dim);
  work.row_bytes = 4 * work.columns;
  work.bags = samples;
  work.lookups = part * samples * table.average_length;
  work.reuse = row_reuse(access, 0, access.rows(), samples * table.average_length);
  return work;
}

ComputeWork call_of(ComputeWork::Kind kind, double part = 1) {
  const Workload workload = workload_of();
  ComputeWork work;
  work.kind = kind;
  work.optimizer = "rowwise_adagrad";
  for (const Table& table : workload.tables) {
    work.tables.push_back(work_of(table, part));
    work.lookups += work.tables.back().lookups;
    work.hbm_bytes += work.tables.back().lookups * work.tables.back().row_bytes;
  }
  return work;
}

double us(const ComputeWork& work, const std::string& options = "name: learned", const char* gpu = "H100") {
  return make_compute_model(parse_yaml(options, "t"))->seconds(work, gpu_of(gpu)).us();
}

std::string refused(const ComputeWork& work, const char* gpu = "H100") {
  return error_of([&] { us(work, "name: learned", gpu); });
}

std::string refused(const Workload& workload, const char* gpu = "H100") {
  const Tree options = parse_yaml("name: learned", "t");
  return error_of([&] { check_learned(learned_costs_of(options).get(), options, gpu_of(gpu), workload); });
}

}  // namespace

TEST_CASE("learned: on tables unlike those of the labels the nets stay near the laws of the same kernels") {
  const std::unique_ptr<ComputeModel> laws = laws_beside(*shipped_costs());
  Rng rng(7);
  int astray = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string table =
        fmt::format("rows: {:.0f}, dim: {}, kind: pooled, pooling_factor: {:.0f}", std::pow(10, 3 + 4 * rng.uniform()),
                    4 << rng.below(7), std::pow(10, 1.7 * rng.uniform()));
    ComputeWork work;
    work.optimizer = "rowwise_adagrad";
    work.tables = {work_of(workload_of(table).tables.front())};
    work.lookups = work.tables.front().lookups;
    const ShardSeconds nets = seconds_by_nets(*shipped_costs(), work.tables);
    for (const auto& [kind, seconds] :
         {std::pair{ComputeWork::Kind::lookup, nets.forward}, {ComputeWork::Kind::update, nets.backward}}) {
      work.kind = kind;
      const double by_laws = laws->seconds(work, gpu_of("H100")).value;
      const auto [less, more] = std::minmax(seconds, by_laws);
      astray += more > 2 * less && more - less > 10e-6 ? 1 : 0;
    }
  }
  CHECK(astray <= 4);  // of 400; without decay of the weights 40 and more
}

TEST_CASE("learned: a call takes what the nets that planners ask say of its tables") {
  const Workload workload = workload_of();
  const std::shared_ptr<const LearnedCosts> costs = shipped_costs();
  CostVector sum;
  CallPlaces places(costs->row_alignment(), 4 * (64 + 8));
  const auto work_of_table = [](const Table& table) { return kSamples * (table.average_length + 4); };
  double all = 0, done = 0;
  for (const Table& table : workload.tables) all += work_of_table(table);
  for (const Table& table : workload.tables) {
    const TableStatistics statistics = table_statistics(table, static_cast<std::int64_t>(kSamples));
    done += work_of_table(table);
    LearnedCosts::add(
        sum, costs->vector_of({statistics, table.dim, places.lines(4 * table.dim, 4 * table.dim), done / all}));
    places.pass(static_cast<double>(table.rows * table.row_bytes()), 4 * table.dim);
  }
  const ShardSeconds seconds = costs->seconds_of(sum);
  CHECK(us(call_of(ComputeWork::Kind::lookup)) == doctest::Approx(1e6 * seconds.forward).epsilon(2e-3));
  CHECK(us(call_of(ComputeWork::Kind::update)) == doctest::Approx(1e6 * seconds.backward).epsilon(2e-3));
  // They are of the size that the laws of the same kernels say.
  for (const ComputeWork::Kind kind : {ComputeWork::Kind::lookup, ComputeWork::Kind::update})
    CHECK(us(call_of(kind)) == doctest::Approx(us(call_of(kind), "name: gpu_kernels")).epsilon(0.25));
}

TEST_CASE(
    "learned: one of two owners of a table's rows takes less than the one owner of all, and more than a quarter") {
  for (const ComputeWork::Kind kind : {ComputeWork::Kind::lookup, ComputeWork::Kind::update}) {
    const double whole = us(call_of(kind)), half = us(call_of(kind, 0.5));
    CHECK(half < whole);
    CHECK(half > 0.25 * whole);
  }
}

TEST_CASE("learned: what nets do not predict takes what gpu_kernels says") {
  ComputeWork on_host = call_of(ComputeWork::Kind::lookup);
  on_host.host_link = {1e-3};
  ComputeWork summed = call_of(ComputeWork::Kind::update);
  summed.optimizer = "";
  ComputeWork by_sums = call_of(ComputeWork::Kind::lookup);
  by_sums.tables.clear();
  ComputeWork dense;
  dense.flops = 1e12;
  for (const ComputeWork& work : {on_host, summed, by_sums, dense}) CHECK(us(work) == us(work, "name: gpu_kernels"));
  ComputeWork fixed = call_of(ComputeWork::Kind::lookup);
  fixed.fixed = {1e-3};
  CHECK(us(fixed) == doctest::Approx(1000));
}

TEST_CASE("learned: the software's factor and launches hold for its updates, too") {
  const ComputeWork update = call_of(ComputeWork::Kind::update);
  CHECK(us(update, "{name: learned, update_factor: 2}") == doctest::Approx(2 * us(update)));
  CHECK(us(update, "{name: learned, launch_in_update: 10 us}") == doctest::Approx(us(update) - 10));
  // No more is launched than an update of one lookup takes.
  const double start = shipped_kernel_family(kUsualKernels, {}).update.start.us();
  CHECK(us(update, "{name: learned, launch_in_update: 1 s}") == doctest::Approx(us(update) - start));
}

TEST_CASE("learned: calls that no net has learned are refused") {
  CHECK(has(refused(call_of(ComputeWork::Kind::lookup), "A100"), "learned from times on H100-SXM5-80GB, and not of"));
  ComputeWork update = call_of(ComputeWork::Kind::update);
  update.optimizer = "sgd";
  CHECK(has(refused(update), "learned from updates by rowwise_adagrad, and not by sgd"));
  ComputeWork narrow = call_of(ComputeWork::Kind::lookup);
  narrow.tables[0].columns = 6;
  CHECK(has(refused(narrow), "the kernels fbgemm look up whole groups of 4 columns, but a table has 6"));
  ComputeWork sequence = call_of(ComputeWork::Kind::lookup);
  sequence.tables[0].pooled = false;
  CHECK(has(refused(sequence), "and not from sequences"));
}

TEST_CASE("learned: a case beyond the labels is refused with the table and the bound") {
  CHECK(refused(workload_of()).empty());
  CHECK(has(refused(workload_of(), "H200"), "learned from times on H100-SXM5-80GB, and the cluster has H200"));
  CHECK(has(refused(workload_of("rows: 9, dim: 8, kind: pooled, pooling_factor: 1", "adam")),
            "learned from updates by rowwise_adagrad, and the workload has adam"));
  CHECK(has(refused(workload_of("rows: 9, dim: 8, kind: sequence, average_length: 3")), "table 'a' is a sequence"));
  CHECK(has(refused(workload_of("rows: 9, dim: 8, dtype: fp16, kind: pooled, pooling_factor: 1")),
            "table 'a' has rows of fp16"));
  CHECK(has(refused(workload_of("rows: 9, dim: 6, kind: pooled, pooling_factor: 1")), "but table 'a' has 6"));
  const Tree of_hugectr = parse_yaml("{name: learned, kernels: hugectr}", "t");
  CHECK(has(error_of([&] { check_learned(shipped_costs().get(), of_hugectr, gpu_of("H100"), workload_of()); }),
            "learned from the kernels fbgemm, and the case has hugectr"));
}

TEST_CASE("learned: batches and columns beyond the labels are told, with what was seen") {
  const LearnedRange& range = shipped_costs()->range();
  CHECK(beyond_labels(*shipped_costs(), workload_of(), range.batch_to, gpu_of("H100")).empty());
  const std::vector<std::string> told = beyond_labels(
      *shipped_costs(), workload_of("rows: 9, dim: 1024, kind: pooled, pooling_factor: 1"), 1 << 20, gpu_of("H100"));
  REQUIRE(told.size() >= 2);
  CHECK(told[0] == "lookups have 1048576 samples (learned from 4096 to 65536)");
  CHECK(told[1] == "table 'a' has 1024 columns (learned from 4 to 256)");
  CHECK(beyond("tables", 3, 0, 0).empty());  // an older file says nothing of them
}

TEST_CASE("learned: files of another layout, and files that are none, are refused") {
  const TemporaryFolder folder("learned_model");
  TrainingOptions few;
  few.epochs = 1;
  save_cost_model(fit_cost_model({labelled_shards(60)}, {}, few), folder / "published.h5");
  const auto made = [&](const std::string& file) {
    return error_of([&] {
      make_compute_model(parse_yaml("{name: learned, costs: \"" + (folder / file).string() + "\"}", "s.yaml"));
    });
  };
  CHECK(has(made("published.h5"), "s.yaml:1:24: the nets of"));
  CHECK(has(made("published.h5"), "--layout batches"));
  CHECK(has(made("nothing.h5"), "nothing.h5"));
  save_cost_model(fit_cost_model({labelled_shards(60)}, {}, few, {}, FeatureLayout::measured), folder / "own.h5");
  CHECK(made("own.h5").empty());
}

TEST_CASE("learned: the shipped costs say what they learned from and how far they are off") {
  const LearnedEvidence& evidence = shipped_costs()->evidence();
  CHECK(evidence.sets.size() == 6);
  CHECK(evidence.fitted > 5000);
  CHECK(evidence.held_back > 2500);
  for (const HeldBackErrors& errors : {evidence.forward, evidence.backward}) {
    CHECK(errors.median_pct > 0);
    CHECK(errors.p90_pct > errors.median_pct);
    CHECK(errors.scale > 0);
  }
  CHECK(shipped_costs()->range().tables_to == 60);
}

// Tables that people have are skewed, and so are those of the labels: of a million rows that are all as likely the nets
// say that an update takes an eighth of what its bytes take at the memory's rate.
TEST_CASE("learned: where nets stray from the laws of the same kernels, the laws are taken, and it is said") {
  const Workload workload = parsed(
      "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 8192\noptimizer: {name: rowwise_adagrad}\n"
      "tables:\n- {name: even, rows: 1000000, dim: 128, kind: pooled, pooling_factor: 10, access: {family: "
      "uniform}}\n");
  const Table& table = workload.tables.front();
  ComputeWork update;
  update.kind = ComputeWork::Kind::update;
  update.optimizer = "rowwise_adagrad";
  update.tables = {work_of(table)};
  update.lookups = update.tables.front().lookups;
  CHECK(us(update) == us(update, "name: gpu_kernels"));
  const std::vector<std::string> beyond =
      beyond_labels(*shipped_costs(), workload, static_cast<std::int64_t>(kSamples), gpu_of("H100"));
  REQUIRE(!beyond.empty());
  CHECK(beyond.back().starts_with("updates of table 'even' take "));
  CHECK(!strays(ComputeWork::Kind::lookup, {100e-6}, {128e-6}));
  CHECK(strays(ComputeWork::Kind::lookup, {100e-6}, {131e-6}));
  CHECK(!strays(ComputeWork::Kind::update, {190e-6}, {130e-6}));
  CHECK(strays(ComputeWork::Kind::update, {200e-6}, {130e-6}));
}

TEST_CASE("learned: a call that strays in one pass is timed by the laws in both") {
  int mixed = 0, by_laws = 0;
  for (const int columns : {16, 32, 64, 128}) {
    for (const int batch : {2048, 4096, 8192, 16384}) {
      const Workload workload = parsed(fmt::format(
          "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: {}\noptimizer: {{name: rowwise_adagrad}}\n"
          "tables:\n- {{name: even, rows: 500000, dim: {}, kind: pooled, pooling_factor: 10, access: {{family: "
          "uniform}}}}\n",
          batch, columns));
      ComputeWork work;
      work.optimizer = "rowwise_adagrad";
      work.tables = {work_of(workload.tables.front(), 1, batch)};
      work.lookups = work.tables.front().lookups;
      int laws = 0;
      for (const auto kind : {ComputeWork::Kind::lookup, ComputeWork::Kind::update}) {
        work.kind = kind;
        laws += us(work) == us(work, "name: gpu_kernels") ? 1 : 0;
      }
      mixed += laws == 1 ? 1 : 0;
      by_laws += laws == 2 ? 1 : 0;
    }
  }
  CHECK(mixed == 0);
  CHECK(by_laws > 0);
}

}  // namespace shardsim::learned_compute_test
