#include "models/learned/cost_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/files.h"
#include "models/learned/evaluation.h"
#include "models/learned/factor_net.h"
#include "models/learned/shard_net.h"
#include "tests/base/error_text.h"
#include "tests/models/learned/small_pool.h"
#include "tests/temporary_folder.h"

namespace shardsim::cost_model_test {
namespace {

TrainingOptions few_epochs(int epochs) {
  TrainingOptions options;
  options.epochs = epochs;
  return options;
}

const CostModel& small_model() {
  static const CostModel model = fit_cost_model({labelled_shards(300)}, {labelled_exchanges(300, 4)}, few_epochs(2));
  return model;
}

std::vector<ShardSeconds> labels_at(const ShardSet& set, const std::vector<std::size_t>& items) {
  std::vector<ShardSeconds> labels;
  for (const std::size_t item : items) labels.push_back(*set.labels[item]);
  return labels;
}

CostErrors errors_of(const std::vector<ShardSeconds>& said, const std::vector<ShardSeconds>& labels,
                     double ShardSeconds::*direction) {
  std::vector<double> a, b;
  for (const ShardSeconds& seconds : said) a.push_back(seconds.*direction);
  for (const ShardSeconds& seconds : labels) b.push_back(seconds.*direction);
  return cost_errors(a, b);
}

}  // namespace

TEST_CASE("cost model: learns a linear cost from 3,000 labels to a few percent on those held back" *
          doctest::test_suite("long")) {
  const ShardSet set = labelled_shards(3000);
  const LearnedCosts costs(fit_cost_model({set}, {}, few_epochs(25)));
  const std::vector<std::size_t> items = held_back_items(set);
  CHECK(items.size() > 900);
  const auto said = predicted_seconds(costs, set, items), labels = labels_at(set, items);
  for (double ShardSeconds::*direction : {&ShardSeconds::forward, &ShardSeconds::backward}) {
    const CostErrors errors = errors_of(said, labels, direction);
    CHECK(errors.rmse_pct() < 4);
    CHECK(errors.kendall > 0.95);
  }
}

TEST_CASE("cost model: a shard's vector is the sum of its tables', whoever keeps it") {
  const LearnedCosts costs(small_model());
  const Workload pool = small_pool();
  const TableStatistics a = table_statistics(pool.tables[1], 1024), b = table_statistics(pool.tables[2], 1024);
  const CostVector kept = costs.vector_of({b, 64});
  CostVector sum = costs.vector_of({a, 32});
  LearnedCosts::add(sum, kept);
  CostVector anew;
  LearnedCosts::add(anew, costs.vector_of({a, 32}));
  LearnedCosts::add(anew, costs.vector_of({b, 64}));
  CHECK(sum == anew);
  CHECK(costs.seconds_of(sum).forward == costs.seconds_of(anew).forward);
  CHECK(costs.vector_of({b, 32}).values != kept.values);
}

TEST_CASE("cost model: an empty shard costs what the head says of a vector of zeros, not 0") {
  const LearnedCosts costs(small_model());
  const CostModel& model = small_model();
  const ShardNet<float> net(20);
  DenseStack<float>::Outputs outputs;
  net.head().forward(net.of_head(model.forward.parameters), std::vector<float>(32, 0), outputs);
  const double expected =
      model.forward.output.mean + model.forward.output.deviation * static_cast<double>(outputs.back().front());
  CHECK(costs.seconds_of({}).forward == doctest::Approx(expected).epsilon(1e-6));
  CHECK(costs.seconds_of({}).forward != 0);
}

TEST_CASE("cost model: planners get what the whole net says") {
  const ShardSet set = labelled_shards(300);
  const CostModel& model = small_model();
  const ShardNet<float> net(20);
  PieceSets<float> one{20, {}, {}, {}, {0}};
  std::vector<int> members;
  for (const ShardPiece& piece : set.shards[5]) {
    std::vector<float> features = table_features(
        {table_statistics(set.workload.tables[static_cast<std::size_t>(piece.table)], 1024), piece.columns},
        model.layout);
    model.features.apply(features);
    one.pieces.insert(one.pieces.end(), features.begin(), features.end());
    members.push_back(static_cast<int>(members.size()));
  }
  one.add(members);
  ShardNet<float>::Pass pass;
  net.forward(model.backward.parameters, one, std::vector<int>{0}, pass);
  const double whole =
      model.backward.output.mean + model.backward.output.deviation * static_cast<double>(pass.head.back().front());
  CHECK(predicted_seconds(LearnedCosts(model), set, {5}).front().backward == doctest::Approx(whole).epsilon(1e-5));
}

namespace {

const CostModel& measured_model() {
  static const CostModel model =
      fit_cost_model({labelled_shards(300)}, {}, few_epochs(40), {}, FeatureLayout::measured);
  return model;
}

// Labels as caches make them: a lookup takes longer by the root of its table's bytes.
ShardSet cached_shards(std::int64_t count) {
  ShardSet set = labelled_shards(count);
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    double seconds = 0;
    for (const ShardPiece& piece : set.shards[i]) {
      const Table& table = set.workload.tables[static_cast<std::size_t>(piece.table)];
      seconds +=
          1e-9 * table.average_length * std::sqrt(static_cast<double>(table.rows) * static_cast<double>(piece.columns));
    }
    set.labels[i] = ShardSeconds{seconds, 2 * seconds};
  }
  return set;
}

}  // namespace

TEST_CASE("measured layout: what adds up in factors is learned from 400 labels to some percent of each" *
          doctest::test_suite("long")) {
  const ShardSet set = cached_shards(600);
  const LearnedCosts costs(fit_cost_model({set}, {}, {}, {}, FeatureLayout::measured));
  const std::vector<std::size_t> items = held_back_items(set);
  const auto said = predicted_seconds(costs, set, items), labels = labels_at(set, items);
  for (double ShardSeconds::*direction : {&ShardSeconds::forward, &ShardSeconds::backward})
    CHECK(errors_of(said, labels, direction).median_pct < 5);
}

TEST_CASE("measured layout: a shard's vector is the sum of its tables', and planners get what the whole net says" *
          doctest::test_suite("long")) {
  const ShardSet set = labelled_shards(300);
  const CostModel& model = measured_model();
  const LearnedCosts costs(model);
  const FactorNet<float> net(factor_shape(FeatureLayout::measured));
  PieceSets<float> one{5, {}, {}, {}, {0}};
  std::vector<int> members;
  CostVector sum;
  for (const ShardPiece& piece : set.shards[5]) {
    const TableStatistics table = table_statistics(set.workload.tables[static_cast<std::size_t>(piece.table)], 1024);
    LearnedCosts::add(sum, costs.vector_of({table, piece.columns}));
    std::vector<float> features = table_features({table, piece.columns}, model.layout);
    model.features.apply(features);
    one.pieces.insert(one.pieces.end(), features.begin(), features.end());
    for (const float amount : table_amounts({table, piece.columns}, model.layout)) one.amounts.push_back(amount);
    members.push_back(static_cast<int>(members.size()));
  }
  one.add(members);
  FactorNet<float>::Pass pass;
  net.forward(model.backward.parameters, one, std::vector<int>{0}, pass);
  const double whole = model.backward.output.deviation * std::exp(static_cast<double>(pass.outputs.front()));
  CHECK(costs.seconds_of(sum).backward == doctest::Approx(whole).epsilon(1e-5));
  CHECK(costs.seconds_of(sum).backward == predicted_seconds(costs, set, {5}).front().backward);
  CHECK(costs.seconds_of({}).forward == 0);
}

TEST_CASE("measured layout: the same labels and seed give the same bytes, and read back as what was written" *
          doctest::test_suite("long")) {
  const TemporaryFolder folder("costs");
  const auto first = folder / "a.h5", second = folder / "b.h5";
  save_cost_model(measured_model(), first);
  save_cost_model(fit_cost_model({labelled_shards(300)}, {}, few_epochs(40), {}, FeatureLayout::measured), second);
  CHECK(read_file(first.string()) == read_file(second.string()));
  CHECK(read_cost_model(first) == measured_model());
  CHECK(usual_layout({.provider = "closed_form", .batch = 4096}) == FeatureLayout::neuroshard);
  CHECK(usual_layout({.provider = "cpu", .batch = 4096}) == FeatureLayout::measured);
  CHECK(usual_layout({.provider = "cpu"}) == FeatureLayout::batches);  // of several batches
  CHECK(usual_layout({.provider = "fbgemm", .batch = 4096}) == FeatureLayout::batches);
}

TEST_CASE("exchanges: a batch of plans gives what each gives alone; other numbers of ranks are refused by name") {
  const LearnedCosts costs(small_model());
  CHECK(costs.exchange_ranks() == std::vector<int>{4});
  const std::vector<double> dims{100, 200, 300, 400, 50, 60, 70, 80}, starts{0, 1e-3, 2e-3, 0, 0, 0, 0, 5e-3};
  std::vector<double> both(8), alone(4);
  costs.forward_exchanges(4, dims, starts, both);
  costs.forward_exchanges(4, std::span(dims).last(4), std::span(starts).last(4), alone);
  for (std::size_t r = 0; r < 4; ++r) CHECK(both[4 + r] == doctest::Approx(alone[r]).epsilon(1e-6));
  const ExchangeSet eight = labelled_exchanges(20, 8);
  const std::string message = error_of([&] { predicted_seconds(costs, eight, {0}); });
  CHECK(has(message, "no nets for exchanges of 8 ranks"));
  ExchangeSet again = labelled_exchanges(20, 4);
  again.file = "again.json";
  CHECK(has(error_of([&] {
              fit_cost_model({labelled_shards(40)}, {again, again}, few_epochs(1));
            }),
            "again.json: exchanges of 4 ranks, and so are those in again.json"));
  CHECK(has(message, "It has them for 4"));
}

TEST_CASE("exchanges of many ranks: each rank's label is learned from its own row, and the file keeps the nets" *
          doctest::test_suite("long")) {
  const ExchangeSet wide = labelled_exchanges(400, 48);
  const CostModel model = fit_cost_model({labelled_shards(300)}, {wide}, few_epochs(20));
  const LearnedCosts costs(model);
  CHECK(costs.exchange_ranks() == std::vector<int>{48});
  std::vector<double> said, labels;
  const std::vector<std::size_t> held = held_back_items(wide);
  const std::vector<ExchangeSeconds> predicted = predicted_seconds(costs, wide, held);
  for (std::size_t i = 0; i < held.size(); ++i) {
    said.insert(said.end(), predicted[i].forward.begin(), predicted[i].forward.end());
    labels.insert(labels.end(), wide.labels[held[i]]->forward.begin(), wide.labels[held[i]]->forward.end());
  }
  // Waiting for the last start is most of a label: without the starts of single ranks half of it would be missed.
  CHECK(cost_errors(said, labels).mae_ms < 0.1 * cost_errors(said, labels).mean_ms);
  const TemporaryFolder folder("costs");
  save_cost_model(model, folder / "wide.h5");
  CHECK(read_cost_model(folder / "wide.h5") == model);
}

TEST_CASE("model file: the same labels and seed give the same bytes, and read back as what was written") {
  const TemporaryFolder folder("costs");
  const auto first = folder / "a.h5", second = folder / "b.h5";
  save_cost_model(small_model(), first);
  save_cost_model(fit_cost_model({labelled_shards(300)}, {labelled_exchanges(300, 4)}, few_epochs(2)), second);
  CHECK(read_file(first.string()) == read_file(second.string()));
  CHECK(read_cost_model(first) == small_model());
  TrainingOptions other = few_epochs(2);
  other.seed = 2;
  CHECK(fit_cost_model({labelled_shards(300)}, {}, other).forward.parameters != small_model().forward.parameters);
}

TEST_CASE("model file: another provider, device or batch than asked, and a file cut off, are refused") {
  const TemporaryFolder folder("costs");
  const auto file = folder / "costs.h5";
  save_cost_model(small_model(), file);
  CHECK(LearnedCosts::read(file, {"made_up", "toy", 1024, "sgd", "fp32"}).setting().device == "toy");
  const auto refused = [&](const ExpectedSetting& expected) {
    return error_of([&] { LearnedCosts::read(file, expected); });
  };
  CHECK(has(refused({.provider = "cuda"}), "its labels are of the provider made_up, not of cuda"));
  CHECK(has(refused({.device = "H100"}), "the device toy, not of H100"));
  CHECK(has(refused({.batch = 65536}), "the batch 1024, not of 65536"));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  CHECK(has(refused({}), file.string()));
  std::ofstream(file) << "no HDF5";
  CHECK(has(refused({}), "the checksum at its end is missing"));
  CostModel other = small_model();
  other.layout = FeatureLayout::autoshard;
  other.features = {std::vector<float>(21, 0), std::vector<float>(21, 1)};
  save_cost_model(other, file);
  CHECK(has(refused({}), "feature layout is \"autoshard\", not neuroshard"));
}

TEST_CASE("model file: a batch or a number of labels below 1, of shards or exchanges, is refused") {
  const TemporaryFolder folder("costs");
  const auto refused = [&](const auto& change) {
    CostModel model = small_model();
    change(model);
    save_cost_model(model, folder / "costs.h5");
    return error_of([&] { read_cost_model(folder / "costs.h5"); });
  };
  CHECK(has(refused([](CostModel& model) { model.setting.batch = 0; }), "its batch is 0, and must be at least 1"));
  CHECK(has(refused([](CostModel& model) { model.evidence.fitted = -5; }), "its labels is -5, and must be at least 1"));
  CHECK(has(refused([](CostModel& model) { model.exchanges[0].batch = 0; }), "/exchange_4: its batch is 0"));
}

TEST_CASE("fit: labels that are no times, of two providers, or missing") {
  ShardSet set = labelled_shards(50);
  const auto refused = [&](const std::vector<ShardSet>& sets) {
    return error_of([&] { fit_cost_model(sets, {}, few_epochs(1)); });
  };
  ShardSet other = set;
  other.provider = "cuda";
  CHECK(has(refused({set, other}), "labels: labels of made_up on toy (batch 1024, sgd, fp32) and of cuda on toy"));
  ShardSet named = set;
  named.file = "ours.json";
  other.file = "theirs.json";
  CHECK(has(refused({named, other}), "theirs.json: labels of made_up on toy (batch 1024, sgd, fp32) in ours.json and"));
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    ShardSet broken = set;
    for (auto& label : broken.labels) label->backward = bad;
    CHECK(has(refused({broken}), "s is not a time"));
  }
  for (auto& label : set.labels) label.reset();
  CHECK(has(refused({set}), "0 labels of shards may be fitted"));
}

TEST_CASE("fit: a handful of labels is refused, 16 are the fewest") {
  const ShardSet all = labelled_shards(50);
  ShardSet set = all;
  std::vector<std::size_t> fitted;  // not held back
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    if (!held_back(shape_of(set.shards[i]))) fitted.push_back(i);
  }
  REQUIRE(fitted.size() > 16);
  for (std::size_t k = 16; k < fitted.size(); ++k) set.labels[fitted[k]].reset();
  CHECK(error_of([&] { fit_cost_model({set}, {}, few_epochs(1)); }).empty());
  set.labels[fitted.front()].reset();
  set.file = "few.json";
  CHECK(has(error_of([&] { fit_cost_model({set}, {}, few_epochs(1)); }),
            "few.json: 15 labels of shards may be fitted, too few to learn from. Label more"));
  ExchangeSet exchanges = labelled_exchanges(50, 4);
  for (std::size_t i = 3; i < exchanges.labels.size(); ++i) exchanges.labels[i].reset();
  CHECK(has(error_of([&] { fit_cost_model({all}, {exchanges}, few_epochs(1)); }), "labels of exchanges may be fitted"));
}

TEST_CASE("errors of predictions: worked by hand") {
  const CostErrors errors = cost_errors({1e-3, 2e-3, 2e-3}, {2e-3, 2e-3, 4e-3});
  CHECK(errors.mean_ms == doctest::Approx(8.0 / 3));
  CHECK(errors.mae_ms == doctest::Approx(1));
  CHECK(errors.mse == doctest::Approx(5.0 / 3));
  CHECK(errors.rmse_ms == doctest::Approx(std::sqrt(5.0 / 3)));
  CHECK(errors.median_pct == doctest::Approx(50));
  CHECK(errors.p90_pct == doctest::Approx(50));
  CHECK(cost_errors({1, 2, 3}, {4, 5, 6}).kendall == 1);
  CHECK(cost_errors({}, {}).rmse_pct() == 0);
}

}  // namespace shardsim::cost_model_test
