#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/files.h"
#include "base/read_files.h"
#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "base/units.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/shared.h"
#include "models/compute/compute_model.h"
#include "models/learned/exchange_inputs.h"
#include "models/learned/label_file.h"
#include "study/planning/shard_work.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostShards = 1'000'000, kMostPieces = 1'000;
constexpr std::size_t kSaveEvery = 50'000;  // labels: what a killed run may lose
constexpr const char* kLabelMark = "\"schema\": \"shardsim.";

Workload pool(const Arguments& given) {
  const std::string& name = given.positional()[0];
  return read_workload(load_named(name, "workloads", "", {"argument " + name}), "");
}

LabelFile drawn(const Arguments& given) {
  given.refuse_beside("exchanges", {"max-tables", "max-bytes"});
  const Workload workload = pool(given);
  const std::int64_t most_batch = given.has("exchanges") ? kMostExchangeBatch : std::int64_t{1} << 40;
  const std::int64_t batch = given.count("batch", 1, most_batch).value_or(workload.batch_per_gpu);
  const auto seed = static_cast<std::uint64_t>(parse_count(given.text("seed"), Arguments::place("seed")));
  const std::int64_t count = *given.count("count", 1, kMostShards), max_dim = *given.count("max-dim", 4, 4096);
  if (given.has("exchanges"))
    return draw_exchanges(
        batch,
        {count, static_cast<int>(*given.count("exchanges", kLeastExchangeRanks, kMostExchangeRanks)), max_dim, seed});
  const int most = static_cast<int>(*given.count("max-tables", 1, kMostPieces));
  const std::int64_t bytes = parse_bytes(given.text("max-bytes"), Arguments::place("max-bytes")).count;
  return draw_shards(workload, batch, {count, most, max_dim, bytes, seed});
}

// The output is JSON. A training would read a file named .csv as a table of measured calls.
void refuse_table_name(const Arguments& given) {
  const std::string output = given.value("output").value_or("-");
  if (output.ends_with(".csv"))
    throw input_error(Arguments::place("output"),
                      "shards and labels are written as JSON, not as the CSV that " + excerpt(output) + " says",
                      "End the name with .json");
}

int sample(const Arguments& given, const Terminal&) {
  const Progress progress = progress_of(given, "drawing");
  refuse_table_name(given);
  deliver(label_file_text(drawn(given)), given);
  return 0;
}

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::abs(b);
}

bool is_near(const ShardSeconds& a, const ShardSeconds& b) {
  return is_near(a.forward, b.forward) && is_near(a.backward, b.backward);
}

bool is_near(const ExchangeSeconds& a, const ExchangeSeconds& b) {
  return is_near(a.forward.front(), b.forward.front()) && is_near(a.backward.front(), b.backward.front());
}

// Takes the labels that an interrupted run left at the output, and counts that file as not read, because the new file
// keeps them. Returns false when there is no such file. Errors: Failure::input for labels of another drawing, provider
// or device.
template <typename Set>
bool resume(Set& set, const Arguments& given, const auto& items) {
  const std::string output = given.text("output");
  if (!given.has("output") || output == "-" || given.has("force") || !is_file(output)) return false;
  refuse_read_file(output, given.positional());
  const LabelFile before = read_label_file(output);
  const Set* old = std::get_if<Set>(&before);
  if (old == nullptr || old->provider != set.provider || old->device != set.device || old->batch != set.batch ||
      old->*items != set.*items)
    throw input_error({output}, "the file holds other labels", "Choose another name, or add --force to overwrite it");
  set.labels = old->labels;
  forget_read(output);
  return true;
}

// Labels that are kept must be those that would be given: two clusters may have GPUs of one name.
template <typename Set>
void check_kept(const Set& set, const Arguments& given, const auto& label_of) {
  const auto kept = std::ranges::find_if(set.labels, [](const auto& label) { return label.has_value(); });
  if (kept == set.labels.end()) return;
  const auto i = static_cast<std::size_t>(kept - set.labels.begin());
  if (is_near(label_of(i), **kept)) return;
  throw input_error({given.text("output")}, "the labels in the file are of another cluster",
                    "Choose another name, or add --force to overwrite it");
}

// Labels what has none, saves now and then, and when the user asks to stop.
template <typename Set>
void label_all(Set& set, const Arguments& given, const Terminal& terminal, bool resumed, const auto& label_of) {
  check_kept(set, given, label_of);
  const bool to_file = given.value("output").value_or("-") != "-";
  const ResultWriter writer{given.command(), given.has("force") || resumed};
  if (to_file) check_result(given.text("output"), writer);
  const StopDelay in_order;  // labels that are given are kept
  Progress progress("labelling");
  std::size_t done = 0;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    if (set.labels[i]) continue;
    if (terminal.interrupted()) {
      if (to_file) deliver(label_file_text(set), given, writer);
      throw Interrupted{};
    }
    set.labels[i] = label_of(i);
    if (++done % 1000 == 0)
      progress.count("labels", static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(set.labels.size()));
    if (done % kSaveEvery == 0 && to_file) deliver(label_file_text(set), given, writer);
  }
  progress.clear();
  deliver(label_file_text(set), given, writer);
}

void label_set(ShardSet& set, const Cluster& cluster, const Arguments& given, const Terminal& terminal) {
  set.labels.assign(set.shards.size(), {});  // those of FILE may be of another cluster
  const auto compute = make_compute_model(named_map(given.text("compute-model")));
  set.provider = given.text("provider");
  set.device = cluster.spec().gpu.model;
  const bool resumed = resume(set, given, &ShardSet::shards);
  ShardWorks works(set.workload, set.batch, cluster);
  label_all(set, given, terminal, resumed,
            [&](std::size_t i) { return works.of(set.shards[i]).seconds(*compute, cluster.spec().gpu); });
}

void label_set(ExchangeSet& set, const Cluster& cluster, const Arguments& given, const Terminal& terminal) {
  set.labels.assign(set.exchanges.size(), {});
  set.provider = given.text("provider");
  set.device = cluster.spec().gpu.model;
  set.topology = exchange_topology(cluster);
  const bool resumed = resume(set, given, &ExchangeSet::exchanges);
  label_all(set, given, terminal, resumed,
            [&](std::size_t i) { return closed_form_exchange(set.exchanges[i], set.batch, cluster); });
}

int label(const Arguments& given, const Terminal& terminal) {
  refuse_table_name(given);
  const Cluster cluster = asked_cluster(given.text("cluster"), Arguments::place("cluster"), given);
  LabelFile file = read_label_file(given.positional()[0]);
  std::visit([&](auto& set) { label_set(set, cluster, given, terminal); }, file);
  return 0;
}

}  // namespace

Command cost_model_sample_command() {
  return {
      .name = "shardsim cost-model sample",
      .summary =
          "draw random shards of a workload's tables, or random exchanges between GPUs, whose times are to be learned",
      .positionals = {{"WORKLOAD",
                       "The workload whose tables are drawn: the name of a shipped one (see `shardsim list "
                       "workloads`), or a file."}},
      .options = {{"count", 'n', "N", "The number of shards or exchanges to draw.", "20000"},
                  {"seed", 0, "S", "The random seed. The same seed draws the same shards.", "1"},
                  {"batch", 0, "B",
                   "The number of samples of one lookup, over all GPUs. Without this option it is the workload's batch "
                   "of one GPU."},
                  {"max-tables", 0, "T", "A shard has from 1 to T tables.", "15"},
                  {"max-dim", 0, "D", "A table of a shard has 4, 8, 16 ... or D columns.", "128"},
                  {"max-bytes", 0, "BYTES", "The most bytes that the rows of one shard take.", "4 GiB"},
                  {"exchanges", 0, "RANKS",
                   "Draw exchanges of vectors between this number of GPUs, 2 to 128, instead of shards."},
                  output_file_option(),
                  force_option()},
      .examples = {"shardsim cost-model sample nv_tiny -n 1000 --batch 65536 -o out/shards.json",
                   "shardsim cost-model sample nv_tiny -n 1000 --batch 65536 --exchanges 4 -o out/exchanges.json"},
      .run = sample};
}

Command cost_model_label_command() {
  return {
      .name = "shardsim cost-model label",
      .summary = "label shards or exchanges with the times that a model predicts",
      .positionals = {{"FILE", "A file that `shardsim cost-model sample` wrote."}},
      .options = {{"provider",
                   0,
                   "NAME",
                   "The model that gives the times. For measured times use `shardsim-microbench --shards` instead of "
                   "this command.",
                   "closed_form",
                   Option::Times::at_most_once,
                   {"closed_form"}},
                  {"cluster", 0, "NAME|FILE",
                   "The cluster with the GPU and the links to predict for: the name of a shipped one (see `shardsim "
                   "list clusters`), or a file.",
                   "", Option::Times::once},
                  nodes_option(),
                  cluster_set_option(),
                  {"compute-model",
                   0,
                   "NAME",
                   "The compute model that predicts the times of lookups.",
                   "roofline",
                   Option::Times::at_most_once,
                   {"roofline"}},
                  output_file_option(),
                  force_option()},
      .notes =
          "Labels that the output file already has are kept, so the same command continues after an interruption.\n",
      .examples = {"shardsim cost-model label out/shards.json --cluster dgx_a100_40gb -o out/labels.json"},
      .run = label};
}

Command cost_model_command() {
  return {.name = "shardsim cost-model",
          .summary = "learn what shards of embedding tables cost: draw, label, train, evaluate",
          .examples = {"shardsim cost-model sample nv_tiny -n 1000 --batch 65536 -o out/shards.json",
                       "shardsim cost-model label out/shards.json --cluster dgx_a100_40gb -o out/labels.json"},
          .parts = {cost_model_sample_command(), cost_model_label_command(), cost_model_train_command(),
                    cost_model_evaluate_command()}};
}

}  // namespace shardsim
