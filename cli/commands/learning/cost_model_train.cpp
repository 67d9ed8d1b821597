#include <fmt/format.h>

#include <cstdio>
#include <set>

#include "accuracy/measurements/calls/measured_shards.h"
#include "accuracy/measurements/shard_roofline.h"
#include "base/document/document.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/learning/training.h"
#include "cli/commands/shared.h"
#include "models/compute/compute_model.h"
#include "models/learned/cost_model.h"
#include "models/learned/evaluation.h"
#include "models/learned/label_file.h"
#include "study/planning/shard_work.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostEpochs = 100'000, kMostBatch = 1 << 20;
constexpr std::size_t kLeastToCalibrate = 4;

struct LabelSets {
  std::vector<ShardSet> shards;
  std::vector<ExchangeSet> exchanges;
};

LabelFile labelled_file(const std::string& path) {
  LabelFile file = read_label_file(path);
  if (is_labelled(file)) return file;
  throw input_error({path}, "nothing in the file is labelled", "Label it: shardsim cost-model label");
}

bool is_table(const std::string& path) {
  return path.ends_with(".csv");
}

// The labels of a CSV table of measured calls, which names tables of --workload.
std::vector<ShardSet> table_sets(const std::string& path, const Arguments& given) {
  const std::optional<Workload> workload = asked_workload(given);
  return read_measured_shards(path, workload ? &*workload : nullptr);
}

LabelSets read_sets(const Arguments& given) {
  std::vector<std::string> paths = given.values("with");
  paths.insert(paths.begin(), given.positional()[0]);
  LabelSets sets;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    if (!seen.insert(path).second)
      throw input_error(Arguments::place("with"), excerpt(path) + " is named twice", "Name each file of labels once");
    if (is_table(path)) {
      for (ShardSet& set : table_sets(path, given)) sets.shards.push_back(std::move(set));
      continue;
    }
    LabelFile file = labelled_file(path);
    if (auto* shards = std::get_if<ShardSet>(&file)) sets.shards.push_back(std::move(*shards));
    if (auto* exchanges = std::get_if<ExchangeSet>(&file)) sets.exchanges.push_back(std::move(*exchanges));
  }
  return sets;
}

TrainingOptions training_options(const Arguments& given) {
  TrainingOptions options;
  options.seed = static_cast<std::uint64_t>(parse_count(given.text("seed"), Arguments::place("seed")));
  options.epochs = static_cast<int>(given.count("epochs", 1, kMostEpochs).value_or(0));
  options.batch = static_cast<int>(given.count("batch-size", 1, kMostBatch).value_or(0));
  options.rate = parse_real(given.text("rate"), Arguments::place("rate"));
  if (options.rate > 0 && options.rate < 1) return options;
  throw input_error(Arguments::place("rate"), "the learning rate must lie between 0 and 1", "Take 0.004, or less");
}

FeatureLayout layout_of(const Arguments& given, const LabelSets& sets) {
  const std::string name = given.text("layout");
  if (name == "measured") return FeatureLayout::measured;
  if (name == "batches") return FeatureLayout::batches;
  if (!name.empty() || sets.shards.empty()) return FeatureLayout::neuroshard;
  LabelSetting setting = sets.shards.front().setting();
  for (const ShardSet& set : sets.shards)
    if (set.batch != setting.batch) setting.batch = 0;
  return usual_layout(setting);
}

int train_model(const Arguments& given, const Terminal& terminal) {
  check_learned_output(given);
  const TrainingOptions options = training_options(given);
  const LabelSets sets = read_sets(given);
  Progress progress("training");
  const CostModel model = fit_cost_model(
      sets.shards, sets.exchanges, options,
      [&](const std::string& net, int epoch, double loss) {
        throw_if_interrupted(terminal.interrupted);
        progress.show(fmt::format("{}: epoch {}, validation loss {:.2g}", net, epoch, loss));
      },
      layout_of(given, sets));
  progress.clear();
  write_result(given.text("output"), result_writer(given),
               [&](const std::filesystem::path& hidden) { save_cost_model(model, hidden); });
  say(fmt::format("wrote {}: {} shards, labels by {} of {}", given.text("output"), model.evidence.fitted,
                  model.setting.provider, model.setting.device));
  return 0;
}

Sheet error_sheet() {
  return {{{"", false},
           {"said by", false},
           {"number"},
           {"mean ms"},
           {"MAE ms"},
           {"MSE ms^2"},
           {"RMSE ms"},
           {"RMSE %"},
           {"median %"},
           {"P90 %"},
           {"Kendall"}},
          {}};
}

void add_row(Sheet& sheet, const std::string& what, const std::string& who, const CostErrors& errors) {
  sheet.rows.push_back(
      {{what, who, fmt::format("{}", errors.labels), fmt::format("{:.4f}", errors.mean_ms),
        fmt::format("{:.4f}", errors.mae_ms), fmt::format("{:.3g}", errors.mse), fmt::format("{:.4f}", errors.rmse_ms),
        fmt::format("{:.2f}", errors.rmse_pct()), fmt::format("{:.2f}", errors.median_pct),
        fmt::format("{:.2f}", errors.p90_pct), fmt::format("{:.4f}", errors.kendall)},
       false});
}

void add_rows(Sheet& sheet, const std::string& who, const std::vector<ShardSeconds>& predicted,
              const std::vector<ShardSeconds>& labels, const std::string& name = "") {
  const std::string of_set = name.empty() ? "" : name + ", ";
  for (double ShardSeconds::*direction : {&ShardSeconds::forward, &ShardSeconds::backward}) {
    std::vector<double> said, label;
    for (const ShardSeconds& seconds : predicted) said.push_back(seconds.*direction);
    for (const ShardSeconds& seconds : labels) label.push_back(seconds.*direction);
    add_row(sheet, of_set + (direction == &ShardSeconds::forward ? "forward" : "backward"), who,
            cost_errors(said, label));
  }
}

// The roofline of the cluster, calibrated on the labels that are not held back, on those that are.
std::vector<ShardSeconds> by_roofline(const ShardSet& set, const std::vector<std::size_t>& items,
                                      const Cluster& cluster) {
  ShardWorks works(set.workload, set.batch, cluster);
  std::vector<ShardWork> fitted;
  std::vector<ShardSeconds> labels;
  for (std::size_t i = 0; i < set.shards.size(); ++i) {
    if (!set.labels[i] || held_back(shape_of(set.shards[i]))) continue;
    fitted.push_back(works.of(set.shards[i]));
    labels.push_back(*set.labels[i]);
  }
  if (labels.size() < kLeastToCalibrate)
    throw input_error({set.file}, "too few labels to calibrate the roofline on", "Label more shards");
  const GpuSpec gpu = calibrated_on_shards(cluster.spec().gpu, fitted, labels);
  const auto roofline = make_compute_model(named_map("roofline"));
  std::vector<ShardSeconds> result;
  for (const std::size_t item : items) result.push_back(works.of(set.shards[item]).seconds(*roofline, gpu));
  return result;
}

template <typename Seconds, typename Set>
std::vector<Seconds> labels_of(const Set& set, const std::vector<std::size_t>& items) {
  std::vector<Seconds> labels;
  for (const std::size_t item : items) labels.push_back(*set.labels[item]);
  return labels;
}

void refuse_mixture(const std::string& file, const std::string& model, const std::string& labels) {
  if (model == labels) return;
  throw input_error({file}, fmt::format("the model is of {}, the labels of {}", model, labels),
                    "Give labels of the same provider and device as those that the model was trained on");
}

bool covers(const LearnedRange& range, const ShardSet& set) {
  return range.batch_to == 0 || (set.batch >= range.batch_from && set.batch <= range.batch_to);
}

void evaluate_set(const LearnedCosts& costs, const ShardSet& set, const Arguments& given, Sheet& sheet) {
  LabelSetting own = set.setting();
  if (costs.setting().batch == 0) own.batch = 0;
  refuse_mixture(set.file, text_of(costs.setting()), text_of(own));
  const std::vector<std::size_t> items = held_back_items(set);
  const auto labels = labels_of<ShardSeconds>(set, items);
  const std::string who = covers(costs.range(), set) ? "learned" : "learned, for other batches";
  add_rows(sheet, who, predicted_seconds(costs, set, items), labels, set.name);
  if (!given.has("cluster")) return;
  const Cluster cluster = asked_cluster(given.text("cluster"), Arguments::place("cluster"), given);
  add_rows(sheet, "roofline", by_roofline(set, items, cluster), labels);
}

std::vector<double> in_one_list(const std::vector<ExchangeSeconds>& all,
                                std::vector<double> ExchangeSeconds::*direction) {
  std::vector<double> result;
  for (const ExchangeSeconds& one : all) result.insert(result.end(), (one.*direction).begin(), (one.*direction).end());
  return result;
}

void evaluate_set(const LearnedCosts& costs, const ExchangeSet& set, const Arguments& given, Sheet& sheet) {
  if (given.has("cluster"))
    throw input_error(Arguments::place("cluster"),
                      "the labels are of exchanges, and the compute model roofline predicts lookups alone",
                      "Leave the option out, or give labels of shards");
  refuse_mixture(set.file, fmt::format("{} (batch {})", costs.setting().provider, costs.setting().batch),
                 fmt::format("{} (batch {})", set.provider, set.batch));
  const std::vector<std::size_t> items = held_back_items(set);
  const auto labels = labels_of<ExchangeSeconds>(set, items), said = predicted_seconds(costs, set, items);
  for (const auto direction : {&ExchangeSeconds::forward, &ExchangeSeconds::backward})
    add_row(sheet, direction == &ExchangeSeconds::forward ? "forward" : "backward", "learned",
            cost_errors(in_one_list(said, direction), in_one_list(labels, direction)));
}

void require_held_back(const auto& set, const std::string& path) {
  if (held_back_items(set).empty())
    throw input_error({path}, "none of the shards that are held back has a label", "Label more of the file");
}

int evaluate_model(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "judging the nets");
  const LearnedCosts costs = LearnedCosts::read(given.positional()[0]);
  const std::string& path = given.positional()[1];
  Sheet sheet = error_sheet();
  if (is_table(path)) {
    for (const ShardSet& set : table_sets(path, given)) {
      require_held_back(set, path);
      evaluate_set(costs, set, given, sheet);
    }
  } else {
    const LabelFile file = labelled_file(path);
    std::visit([&](const auto& set) { require_held_back(set, path); }, file);
    std::visit([&](const auto& set) { evaluate_set(costs, set, given, sheet); }, file);
  }
  Document document;
  document.add(table_section(
      "Held-back labels",
      "The third of the labels that no fit looked at; backward with update. Labels: " + text_of(costs.setting()) + ".",
      sheet));
  print_result(shown_text(document, given, terminal));
  return 0;
}

}  // namespace

Command cost_model_train_command() {
  return {
      .name = "shardsim cost-model train",
      .summary = "train neural nets on two thirds of the labels, and write them as a cost model",
      .positionals = {{"LABELS", "A file of labelled shards: JSON, or a CSV table of measured calls."}},
      .options =
          {{"workload", 0, "NAME",
            "The workload whose tables a CSV table of measured calls names, such as metasyn_856."},
           {"with", 0, "FILE", "A further file of labels, of shards or of exchanges between GPUs.", "",
            Option::Times::any},
           {"output", 'o', "COSTS.h5", "Write this file.", "", Option::Times::once},
           {"seed", 0, "S", "The random seed. The same labels and the same seed give the same file.", "1"},
           {"layout",
            0,
            "NAME",
            "The features and nets: those that NeuroShard published, or smaller ones of our own for measured times; "
            "batches has the batch among its features. Without this option, labels of several batches or of the "
            "provider fbgemm get batches, other labels of the provider closed_form get those of NeuroShard, and "
            "others measured.",
            "",
            Option::Times::at_most_once,
            {"neuroshard", "measured", "batches"}},
           {"epochs", 0, "N",
            "The number of passes over the labels. Without this option, there are as many as make 16,000 training "
            "steps, or 32,000 for exchanges."},
           {"batch-size", 0, "N",
            "The number of labels in a training step. Without this option it is 64 for shards and 128 for exchanges, "
            "and 16 where there are few labels."},
           {"rate", 0, "R", "The learning rate of Adam at its highest; it falls to 0 towards the end.", "0.004"},
           force_option()},
      .examples = {"shardsim cost-model train out/labels.json -o out/costs.h5"},
      .run = train_model};
}

Command cost_model_evaluate_command() {
  return {.name = "shardsim cost-model evaluate",
          .summary = "show the error of a cost model on the labels that were held back from its training",
          .positionals = {{"COSTS.h5", "A file that `shardsim cost-model train` wrote."},
                          {"LABELS",
                           "A file of labelled shards or exchanges: JSON, or a CSV table of measured calls. Only "
                           "the third that is held back from every training is judged, in a table set by set."}},
          .options =
              std::vector<Option>{
                  {"workload", 0, "NAME",
                   "The workload whose tables a CSV table of measured calls names, such as metasyn_856."},
                  {"cluster", 0, "NAME|FILE",
                   "Also show the error of the compute model roofline for the GPU of this cluster, calibrated on the "
                   "other two thirds of the labels."},
                  details_option()} +
              needing("cluster", {nodes_option(), cluster_set_option()}),
          .examples = {"shardsim cost-model evaluate out/costs.h5 out/labels.json",
                       "shardsim cost-model evaluate out/costs.h5 out/labels.json --cluster dgx_a100_40gb",
                       "shardsim cost-model evaluate scenarios/costs/h100_fbgemm.h5 "
                       "scenarios/measurements/fbgemm/shards_h100.csv --workload metasyn_856"},
          .run = evaluate_model};
}

}  // namespace shardsim
