#include "accuracy/measurements/calls/call_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/document/cells.h"
#include "base/files.h"
#include "base/judgement/figures.h"
#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCallSchema = "shardsim.call_comparison/1";
constexpr std::array kCallFigures = {ErrorFigure::median, ErrorFigure::p90, ErrorFigure::worst, ErrorFigure::bias};
constexpr CallDirection kDirections[] = {CallDirection::forward, CallDirection::backward};

double us_of(const MeasuredCall& call, CallDirection direction) {
  return direction == CallDirection::forward ? call.forward_us : call.backward_us;
}

std::string model_text(const Tree& options) {
  std::string text = compute_model_name(options);
  if (is_learned(options)) {
    const Tree* const costs = options.find("costs");
    return text + ", costs " + (costs == nullptr ? "auto" : costs->scalar);
  }
  if (const Tree* const kernels = options.find("kernels")) text += ", kernels " + kernels->scalar;
  return text;
}

ErrorFigures errors_of(const std::vector<PredictedCall>& calls, const std::string& set, CallDirection direction,
                       Pair::Role role) {
  std::vector<Pair> pairs;
  for (const PredictedCall& each : calls)
    if (each.call->set == set) pairs.push_back(each.pair(direction));
  return error_figures(pairs_of(pairs, role));
}

// "fbgemm/shards_h100.csv", as a family names the files that it was fitted on.
std::string name_of_file(const std::string& path) {
  const std::filesystem::path file = path;
  return (file.parent_path().filename() / file.filename()).string();
}

bool is_fitted_on(const KernelFamily& family, const std::string& file) {
  return std::ranges::any_of(family.sources, [&](const SourcedValue& value) {
    return value.fitted && std::ranges::find(value.fitted_on, file) != value.fitted_on.end();
  });
}

// Constants of kernels by table come from calls of one GPU; those of other models from none of them.
bool is_fitted_to(const MeasuredCalls& measured, const Tree& options) {
  if (is_learned(options) || !has_kernel_family(options)) return false;
  const KernelFamily family = shipped_kernel_family(kernel_family_name(options), {});
  const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const found = gpus.find(measured.gpu.model);
  return found != nullptr && found->name == family.gpu &&
         (measured.kernels == family.name || is_fitted_on(family, name_of_file(measured.path)));
}

// Nets may have learned from all calls of their own GPU that no training leaves out.
bool is_taught_by(const MeasuredCalls& measured, const Tree& options) {
  return is_learned(options) && is_same_device(learned_costs_of(options)->setting().device, measured.gpu.model);
}

std::vector<std::string> sets_of(const MeasuredCalls& measured) {
  std::vector<std::string> sets;
  for (const MeasuredCall& call : measured.calls)
    if (std::ranges::find(sets, call.set) == sets.end()) sets.push_back(call.set);
  return sets;
}

void add_errors(Sheet& sheet, const std::string& set, const std::string& what, const ErrorFigures& errors, bool quiet) {
  if (errors.rows > 0) sheet.rows.push_back(figures_row({set, what}, errors, kCallFigures, quiet));
}

Sheet sets_sheet(const CallJudgement& judgement) {
  Sheet sheet = figures_sheet({"set", "call"}, kCallFigures);
  for (const CallFigures& figures : judgement.by_set) {
    const std::string name = call_direction_name(figures.direction);
    add_errors(sheet, figures.set, name, figures.judging, false);
    add_errors(sheet, figures.set, name + ", fitted on", figures.fitted, true);
  }
  return sheet;
}

std::string call_summary(const CallJudgement& judgement) {
  const ErrorFigures& all = judgement.judging;
  if (all.rows == 0) return "Constants may have been fitted on every row: none judges.";
  return fmt::format(
      "{} of fused calls on {} predicted by {}: the median error is {} %, and nine of ten are within {} %.",
      counted(static_cast<std::size_t>(all.rows), "time"), judgement.measured->gpu.model, judgement.model,
      percent(all.median_abs_pct), percent(all.p90_abs_pct));
}

// If the model refuses a call, the error names the row of that call.
double predicted_us(const ComputeModel& model, const MeasuredCall& call, const ComputeWork& work, const GpuSpec& gpu) {
  try {
    return model.seconds(work, gpu).us();
  } catch (const Error& error) {
    if (!error.place().text().empty()) throw;
    throw Error(error.failure(), call.place, error.what(), "");
  }
}

}  // namespace

std::string call_direction_name(CallDirection direction) {
  return direction == CallDirection::forward ? "forward" : "backward";
}

Pair PredictedCall::pair(CallDirection direction) const {
  Pair pair;
  pair.predicted = direction == CallDirection::forward ? forward_us : backward_us;
  pair.observed = us_of(*call, direction);
  pair.role = is_fitted ? Pair::Role::fitted : Pair::Role::judging;
  return pair;
}

CallJudgement judge_calls(const MeasuredCalls& measured, const Tree& model_options) {
  const auto model = make_compute_model(model_options);
  const bool is_of_gpu = is_fitted_to(measured, model_options), is_taught = is_taught_by(measured, model_options);
  CallJudgement result;
  result.measured = &measured;
  result.model = model_text(model_options);
  std::vector<Pair> all;
  for (const MeasuredCall& call : measured.calls) {
    const PredictedCall predicted{&call, predicted_us(*model, call, call.lookup, measured.gpu),
                                  predicted_us(*model, call, call.update, measured.gpu),
                                  (is_of_gpu && call.fits) || (is_taught && call.teaches)};
    result.calls.push_back(predicted);
    for (const CallDirection direction : kDirections) all.push_back(predicted.pair(direction));
  }
  for (const std::string& set : sets_of(measured))
    for (const CallDirection direction : kDirections)
      result.by_set.push_back({set, direction, errors_of(result.calls, set, direction, Pair::Role::judging),
                               errors_of(result.calls, set, direction, Pair::Role::fitted)});
  result.judging = error_figures(pairs_of(all, Pair::Role::judging));
  return result;
}

std::string call_judgement_json(const CallJudgement& judgement) {
  Json sets = Json::array();
  for (const CallFigures& figures : judgement.by_set)
    sets.push_back({{"set", figures.set},
                    {"call", call_direction_name(figures.direction)},
                    {"judging", figures_json(figures.judging, kCallFigures)},
                    {"fitted", figures_json(figures.fitted, kCallFigures)}});
  const Json root = {{"schema", kCallSchema},
                     {"version", version()},
                     {"measurements", judgement.measured->path},
                     {"gpu", judgement.measured->gpu.model},
                     {"compute_model", judgement.model},
                     {"overall", figures_json(judgement.judging, kCallFigures)},
                     {"sets", sets}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string call_predictions_csv(const CallJudgement& judgement) {
  std::string csv =
      "line,set,shape,forward_us,forward_predicted_us,forward_error_pct,backward_us,backward_predicted_us,"
      "backward_error_pct,fits\n";
  for (const PredictedCall& each : judgement.calls) {
    const MeasuredCall& call = *each.call;
    csv += fmt::format("{},{},{},{},{},{}\n", call.place.line, csv_cell(call.set), csv_cell(call.shape),
                       csv_cells(each.pair(CallDirection::forward)), csv_cells(each.pair(CallDirection::backward)),
                       each.is_fitted ? "yes" : "no");
  }
  return csv;
}

Document call_document(const CallJudgement& judgement, Medium medium) {
  JudgementPage page;
  page.title = "Fused lookups and updates: predicted against measured";
  page.origin = fmt::format("{}, compute model {}, shardsim {}", judgement.measured->path, judgement.model, version());
  page.summary = call_summary(judgement);
  page.legend = figures_legend(kCallFigures);
  page.parts = {"By set", {sets_sheet(judgement)}};
  return document_of(std::move(page), medium);
}

}  // namespace shardsim
