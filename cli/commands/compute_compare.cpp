#include <filesystem>
#include <optional>

#include "accuracy/measurements/calls/call_judgement.h"
#include "accuracy/measurements/calls/family_fit.h"
#include "accuracy/measurements/calls/measured_calls.h"
#include "accuracy/measurements/kernels/kernel_judgement.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/all.h"
#include "cli/commands/cluster.h"
#include "cli/commands/judgement_files.h"
#include "cli/commands/shared.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "study/report/page.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr const char* kShippedKernelMap = "scenarios/measurements/kernels.yaml";

// The shipped map is named as in the source tree, wherever it lies.
KernelMap kernel_map(const Arguments& given) {
  if (const auto path = given.value("map")) return read_kernel_map(*path);
  KernelMap map = read_kernel_map((data_folder() / kShippedKernelMap).string());
  map.path = kShippedKernelMap;
  return map;
}

KernelQuestion kernel_question(const Arguments& given) {
  KernelQuestion question;
  question.model = given.text("compute-model");
  question.gpus_file = given.text("gpus");
  question.table = shipped_gpu_table();
  if (!question.gpus_file.empty()) question.table = read_gpu_table(question.gpus_file, std::move(question.table));
  if (!given.has("cluster")) return question;
  question.only = asked_cluster(given.text("cluster"), Arguments::place("cluster"), given).spec().gpu;
  if (question.table.find(question.only->model) == nullptr)
    throw input_error(Arguments::place("cluster"),
                      "there are no constants for the GPU of this cluster, " + excerpt(question.only->model),
                      known_names_hint(question.only->model, question.table.names()) + " Or add it with --gpus");
  return question;
}

// Fused calls: lookups and updates of many tables, by the software that people run.

constexpr const char* kCallKernels = "fbgemm";

GpuSpec call_gpu(const Arguments& given) {
  if (!given.has("cluster")) return {};
  return asked_cluster(given.text("cluster"), Arguments::place("cluster"), given).spec().gpu;
}

Tree call_model(const Arguments& given) {
  Tree options = named_map(given.text("compute-model"));
  if (is_learned(options))
    options.fields.emplace_back("costs", text_tree(given.has("costs") ? given.text("costs") : "auto"));
  if (!is_learned(options) && given.has("costs"))
    throw input_error(Arguments::place("costs"), "the option is of the compute model learned alone",
                      "Add --compute-model learned, or leave it out");
  if (!has_kernel_constants(options)) {
    given.refuse_beside("compute-model", {"kernels"});
    return options;
  }
  const std::string file = given.text("gpus");
  if (!file.empty()) options.fields.emplace_back("file", text_tree(file));
  options.fields.emplace_back("kernels", text_tree(given.has("kernels") ? given.text("kernels") : kCallKernels));
  return options;
}

// The files of --measurements, each with its rows' work.
std::vector<MeasuredCalls> fitted_files(const Arguments& given) {
  const std::optional<Workload> workload = asked_workload(given);
  std::vector<MeasuredCalls> files;
  if (!given.has("measurements"))
    throw input_error(Arguments::place("measurements"), "there is nothing to fit to", "Name at least one file");
  for (const std::string& path : given.values("measurements")) {
    if (!is_call_file(path))
      throw input_error({path}, "the file has no fused calls", "Give tables or labels of fused lookups and updates");
    files.push_back(read_measured_calls(path, {workload ? &*workload : nullptr, call_gpu(given)}));
  }
  return files;
}

int fit_kernels(const Arguments& given, const Terminal&) {
  const Progress progress = progress_of(given, "fitting");
  const KernelFamily start = shipped_kernel_family(given.text("kernels"), Arguments::place("kernels"));
  const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const gpu = gpus.find(start.gpu);
  if (gpu == nullptr)
    throw input_error(Arguments::place("kernels"), "there are no constants of the GPU " + excerpt(start.gpu),
                      known_names_hint(start.gpu, gpus.names()));
  const std::vector<MeasuredCalls> files = fitted_files(given);
  deliver(family_text(fitted_family(start, files, *gpu), files), given);
  return 0;
}

int compare_calls(const Arguments& given, const Terminal& terminal) {
  given.refuse_beside("workload", {"map"});
  const JudgementFolder folder(given, "compute_compare", false);
  const std::optional<Workload> workload = asked_workload(given);
  const MeasuredCalls measured =
      read_measured_calls(given.text("measurements"), {workload ? &*workload : nullptr, call_gpu(given)});
  const CallJudgement judgement = judge_calls(measured, call_model(given));
  return folder.deliver({call_judgement_json(judgement), call_predictions_csv(judgement),
                         page_html(call_document(judgement, Medium::page)),
                         shown_text(call_document(judgement, Medium::terminal), given, terminal), "",
                         judgement.judging.median_abs_pct});
}

int compare_kernels(const Arguments& given, const Terminal& terminal) {
  const Progress progress = progress_of(given, "predicting the measured kernels");
  if (is_call_file(given.text("measurements"))) return compare_calls(given, terminal);
  if (given.text("compute-model") == kLearnedModel)
    throw input_error(Arguments::place("compute-model"),
                      "nets predict fused calls alone, and this table is of single kernels",
                      "Take gpu_kernels or roofline, or a table of fused calls");
  for (const char* const option : {"workload", "kernels", "costs"})
    if (given.has(option))
      throw input_error(Arguments::place(option), "the option is of fused calls, and this table is of single kernels",
                        "Leave it out");
  const JudgementFolder folder(given, "compute_compare", true);
  const std::string path = given.text("measurements");
  const KernelJudgement judgement =
      judge_kernels(read_kernel_rows(path), kernel_map(given), kernel_question(given), path);
  return folder.deliver({kernel_judgement_json(judgement), kernel_predictions_csv(judgement),
                         page_html(kernel_document(judgement, Medium::page)),
                         shown_text(kernel_document(judgement, Medium::terminal), given, terminal),
                         kernel_markdown(judgement), judgement.predicted.all().median_abs_pct});
}

Command compute_fit_command() {
  return {
      .name = "shardsim compute fit",
      .summary = "fit the constants of kernels by table to measured lookups and updates, by the rows that do not judge",
      .options =
          std::vector<Option>{
              {"measurements", 0, "FILE",
               "A file of fused calls (docs/formats/measurements.md); may be given several times.", "",
               Option::Times::any},
              {"kernels", 0, "NAME", "The kernels whose constants are fitted, from those that are shipped.", "",
               Option::Times::once, table_kernel_names()},
              {"workload", 0, "NAME|FILE", "The workload whose tables the rows name."},
              {"cluster", 0, "NAME|FILE", "A cluster of the GPU of rows that do not name theirs."}} +
          needing("cluster", {cluster_set_option()}) + std::vector<Option>{output_file_option(), force_option()},
      .examples = {"shardsim compute fit --kernels fbgemm --workload metasyn_856 --measurements "
                   "scenarios/measurements/fbgemm/shards_h100.csv --measurements "
                   "scenarios/measurements/fbgemm/grid_h100.csv -o out/fbgemm.yaml"},
      .run = fit_kernels};
}

Command compute_compare_command() {
  return {
      .name = "shardsim compute compare",
      .summary = "compare predicted with measured times of kernels: lookups, updates, sorts, matrix products, copies",
      .options =
          std::vector<Option>{
              {"measurements", 0, "PATH",
               "A CSV table of measured kernels (docs/formats/measurements.md), or a folder of such tables.", "",
               Option::Times::once},
              {"compute-model",
               0,
               "NAME",
               "The compute model that makes the predictions.",
               "gpu_kernels",
               Option::Times::at_most_once,
               {"gpu_kernels", "learned", "roofline"}},
              {"gpus", 0, "FILE",
               "A file of GPU constants that adds to, and overrides, the shipped scenarios/gpus/kernels.yaml."},
              {"cluster", 0, "NAME|FILE",
               "Predict with the GPU of this cluster, and only the rows that were measured on such a GPU."}} +
          needing("cluster", {cluster_set_option()}) +
          std::vector<Option>{
              {"workload", 0, "NAME|FILE",
               "The workload whose tables the rows name, where a table has a column shard "
               "(docs/formats/measurements.md, fused calls)."},
              {"kernels", 0, "NAME",
               "Whose kernels the compute model gpu_kernels predicts for fused calls; without this option fbgemm.", "",
               Option::Times::at_most_once, kernel_names()},
              {"costs", 0, "FILE|auto",
               "The nets of the compute model learned: a file of `shardsim cost-model train`; without this option the "
               "shipped ones. Calls that they may have learned from do not judge them."},
              {"map", 0, "FILE",
               "A file that says on which GPU rows were measured whose source does not name it, and which rows are "
               "not judged. Without this option, the one for the shipped published rows is taken."},
              tolerance_option("the median error of the predicted rows is larger than this"),
              {"output", 'o', "DIR",
               "Write report.html, comparison.json, predictions.csv and accuracy.md into this folder. Without this "
               "option it is out/compute_compare."},
              details_option(),
              force_in_folder_option(),
              {"json", 0, "", "Print the comparison as one JSON document instead of tables."}},
      .examples = {"shardsim compute compare --measurements scenarios/measurements/kernels -o out/compute_compare",
                   "shardsim compute compare --measurements scenarios/measurements/kernels/embedding.csv "
                   "--compute-model roofline --json",
                   "shardsim compute compare --measurements scenarios/measurements/fbgemm/shards_h200.csv --workload "
                   "metasyn_856",
                   "shardsim compute compare --measurements scenarios/measurements/fbgemm/shards_h100.csv --workload "
                   "metasyn_856 --compute-model learned"},
      .run = compare_kernels};
}

}  // namespace

Command compute_command() {
  return {.name = "shardsim compute",
          .summary = "compare predicted with measured times of kernels, and fit constants to them",
          .examples = {"shardsim compute compare --measurements scenarios/measurements/kernels -o out/compute_compare",
                       "shardsim compute compare --measurements scenarios/measurements/kernels --cluster dgx1_v100"},
          .parts = {compute_compare_command(), compute_fit_command()}};
}

}  // namespace shardsim
