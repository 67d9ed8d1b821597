#include "cli/commands/compute_calls.h"

#include <optional>

#include "accuracy/measurements/calls/call_judgement.h"
#include "accuracy/measurements/calls/family_fit.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/cluster.h"
#include "cli/commands/judgement_files.h"
#include "cli/commands/shared.h"
#include "models/compute/gpus/kernel_family.h"
#include "study/report/page.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr const char* kCallKernels = "fbgemm";

std::optional<Workload> call_workload(const Arguments& given) {
  if (!given.has("workload")) return std::nullopt;
  return read_workload(load_named(given.text("workload"), "workloads", "", Arguments::place("workload")), "");
}

GpuSpec call_gpu(const Arguments& given) {
  if (!given.has("cluster")) return {};
  return asked_cluster(given.text("cluster"), Arguments::place("cluster"), given).spec().gpu;
}

Tree call_model(const Arguments& given) {
  Tree options = named_map(given.text("compute-model"));
  if (given.text("compute-model") != "gpu_kernels") {
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
  const std::optional<Workload> workload = call_workload(given);
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

}  // namespace

int compare_calls(const Arguments& given, const Terminal& terminal) {
  given.refuse_beside("workload", {"map"});
  const JudgementFolder folder(given, "compute_compare", false);
  const std::optional<Workload> workload = call_workload(given);
  const MeasuredCalls measured =
      read_measured_calls(given.text("measurements"), {workload ? &*workload : nullptr, call_gpu(given)});
  const CallJudgement judgement = judge_calls(measured, call_model(given));
  return folder.deliver({call_judgement_json(judgement), call_predictions_csv(judgement),
                         page_html(call_document(judgement, Medium::page)),
                         document_text(call_document(judgement, Medium::terminal), terminal.width, terminal.colour), "",
                         judgement.judging.median_abs_pct});
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

}  // namespace shardsim
