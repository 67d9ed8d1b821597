#include "accuracy/measurements/kernels/kernel_judgement.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "base/text.h"
#include "models/compute/compute_model.h"

namespace shardsim {
namespace {

using KernelRowPointers = std::vector<const JudgedKernel*>;

const KernelMap::Rule* first_rule(const std::vector<KernelMap::Rule>& rules, const KernelRow& row) {
  const auto found = std::ranges::find_if(rules, [&](const KernelMap::Rule& rule) { return rule.covers(row); });
  return found == rules.end() ? nullptr : &*found;
}

Tree options_of(const KernelQuestion& question) {
  Tree options = named_map(question.model);
  if (question.model != "gpu_kernels" || question.gpus_file.empty()) return options;
  options.fields.emplace_back("file", text_tree(question.gpus_file));
  return options;
}

class KernelJudge {
 public:
  KernelJudge(const KernelMap& map, const KernelQuestion& question)
      : map_(map), question_(question), model_(make_compute_model(options_of(question))) {}

  JudgedKernel judge(const KernelRow& row) const {
    JudgedKernel judged{row, "", "", 0, false, row.out_of_model};
    const KernelMap::Rule* const out = first_rule(map_.out_of_model, row);
    if (judged.out_of_model.empty() && out != nullptr) judged.out_of_model = out->reason;
    const GpuConstants* const gpu = judged.out_of_model.empty() ? gpu_of(judged) : nullptr;
    if (gpu == nullptr) return judged;
    const GpuSpec spec = question_.only.value_or(spec_of(*gpu));
    const bool has_rate = row.kind != KernelKind::product || spec.flops.contains(row.sizes.dtype);
    if (!has_rate) {
      judged.out_of_model = gpu->name + " states no rate for products in " + row.sizes.dtype;
      return judged;
    }
    judged.gpu = gpu->name;
    for (const ComputeWork& work : row.works()) judged.predicted_us += model_->seconds(work, spec).us();
    judged.is_fitted = question_.model == "gpu_kernels" && gpu->is_fitted_on(row.id);
    return judged;
  }

 private:
  // Null where there is none, which the row then says.
  const GpuConstants* gpu_of(JudgedKernel& judged) const {
    const KernelRow& row = judged.row;
    std::string name = row.sizes.gpu;
    if (const KernelMap::Rule* const rule = first_rule(map_.gpus, row)) {
      name = rule->gpu;
      judged.assumed = rule->reason;
    } else if (!row.names_gpu) {
      judged.out_of_model = "its source names no GPU";
      return nullptr;
    }
    const GpuConstants* const gpu = question_.table.find(name);
    const bool is_other = gpu != nullptr && question_.only && question_.table.find(question_.only->model) != gpu;
    if (gpu == nullptr) judged.out_of_model = "no constants of the GPU " + excerpt(name);
    if (is_other) judged.out_of_model = "another GPU than that of the cluster";
    return is_other ? nullptr : gpu;
  }

  const KernelMap& map_;
  const KernelQuestion& question_;
  std::unique_ptr<ComputeModel> model_;
};

BandFigures figures_of(const KernelRowPointers& rows, bool is_fitted) {
  std::vector<Pair> pairs;
  for (const JudgedKernel* const row : rows)
    if (row->is_fitted == is_fitted) pairs.push_back(row->pair());
  return band_figures(pairs);
}

KernelRowPointers those(const std::vector<JudgedKernel>& rows, const std::function<bool(const JudgedKernel&)>& test) {
  KernelRowPointers found;
  for (const JudgedKernel& row : rows)
    if (row.out_of_model.empty() && test(row)) found.push_back(&row);
  return found;
}

void add_figures(std::vector<KernelFigures>& list, const std::string& gpu, KernelKind kind,
                 const KernelRowPointers& rows) {
  if (!rows.empty()) list.push_back({gpu, kind, figures_of(rows, false), figures_of(rows, true)});
}

std::vector<std::string> gpus_of(const std::vector<JudgedKernel>& rows) {
  std::vector<std::string> gpus;
  for (const JudgedKernel& row : rows)
    if (row.out_of_model.empty() && std::ranges::find(gpus, row.gpu) == gpus.end()) gpus.push_back(row.gpu);
  return gpus;
}

void count_reason(std::vector<std::pair<std::string, int>>& reasons, const std::string& reason) {
  const auto found = std::ranges::find(reasons, reason, &std::pair<std::string, int>::first);
  if (found != reasons.end()) {
    ++found->second;
  } else {
    reasons.emplace_back(reason, 1);
  }
}

}  // namespace

Pair JudgedKernel::pair() const {
  Pair pair;
  pair.predicted = predicted_us;
  pair.observed = row.sizes.time_us;
  pair.role = is_fitted ? Pair::Role::fitted : Pair::Role::judging;
  pair.size = row.operand_bytes();
  pair.kind = kernel_kind_name(row.kind);
  pair.what = row.shape();
  pair.how = row.id;
  return pair;
}

KernelJudgement judge_kernels(const std::vector<KernelRow>& rows, const KernelMap& map, const KernelQuestion& question,
                              const std::string& measurements) {
  KernelJudgement result;
  result.measurements = measurements;
  result.map = map.path;
  result.model = question.model;
  result.constants = "scenarios/gpus/kernels.yaml" + (question.gpus_file.empty() ? "" : ", " + question.gpus_file);
  const KernelJudge judge(map, question);
  for (const KernelRow& row : rows) result.rows.push_back(judge.judge(row));
  for (const JudgedKernel& row : result.rows)
    if (!row.out_of_model.empty()) count_reason(result.out_of_model, row.out_of_model);
  const KernelRowPointers all = those(result.rows, [](const JudgedKernel&) { return true; });
  if (all.empty()) {
    const std::string why = result.out_of_model.empty() ? "the table has no rows" : result.out_of_model.front().first;
    throw input_error({measurements}, "no row can be predicted: " + why,
                      "Give rows of kernels on a GPU that `scenarios/gpus/kernels.yaml` or --gpus has constants of");
  }
  for (const std::string& gpu : gpus_of(result.rows))
    for (const KernelKind kind : kAllKernelKinds)
      add_figures(result.by_gpu, gpu, kind,
                  those(result.rows, [&](const JudgedKernel& r) { return r.gpu == gpu && r.row.kind == kind; }));
  for (const KernelKind kind : kAllKernelKinds)
    add_figures(result.by_kind, "", kind,
                those(result.rows, [&](const JudgedKernel& r) { return r.row.kind == kind; }));
  result.predicted = figures_of(all, false);
  result.fitted = figures_of(all, true);
  return result;
}

}  // namespace shardsim
