#include "accuracy/measurements/calls/call_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/document/cells.h"
#include "base/files.h"
#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCallSchema = "shardsim.call_comparison/1";
constexpr double kP90 = 0.9;
constexpr CallDirection kDirections[] = {CallDirection::forward, CallDirection::backward};

double us_of(const MeasuredCall& call, CallDirection direction) {
  return direction == CallDirection::forward ? call.forward_us : call.backward_us;
}

std::string model_text(const Tree& options) {
  std::string text = compute_model_name(options);
  if (const Tree* const kernels = options.find("kernels")) text += ", kernels " + kernels->scalar;
  return text;
}

CallErrors errors_of(const std::vector<PredictedCall>& calls, const std::string& set, CallDirection direction,
                     bool fits) {
  std::vector<double> errors;
  for (const PredictedCall& each : calls)
    if (each.call->set == set && each.is_fitted == fits) errors.push_back(each.error_pct(direction));
  return CallErrors::of(std::move(errors));
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
  if (!asks_tables(options)) return false;
  const KernelFamily family = shipped_kernel_family(kernel_family_name(options), {});
  const GpuTable gpus = shipped_gpu_table();
  const GpuConstants* const found = gpus.find(measured.gpu.model);
  return found != nullptr && found->name == family.gpu &&
         (measured.kernels == family.name || is_fitted_on(family, name_of_file(measured.path)));
}

std::vector<std::string> sets_of(const MeasuredCalls& measured) {
  std::vector<std::string> sets;
  for (const MeasuredCall& call : measured.calls)
    if (std::ranges::find(sets, call.set) == sets.end()) sets.push_back(call.set);
  return sets;
}

Json number_json(const std::optional<double>& number) {
  return number ? Json(std::round(*number * 100) / 100) : Json(nullptr);
}

Json errors_json(const CallErrors& errors) {
  return {{"rows", errors.rows},
          {"median_abs_error_pct", number_json(errors.median)},
          {"p90_abs_error_pct", number_json(errors.p90)},
          {"worst_abs_error_pct", number_json(errors.worst)},
          {"signed_error_pct", number_json(errors.signed_mean)}};
}

void add_errors(Sheet& sheet, const std::string& set, const std::string& what, const CallErrors& errors, bool quiet) {
  if (errors.rows == 0) return;
  sheet.rows.push_back({{set, what, std::to_string(errors.rows), percent(errors.median), percent(errors.p90),
                         percent(errors.worst), signed_percent(errors.signed_mean)},
                        quiet});
}

Sheet sets_sheet(const CallJudgement& judgement) {
  Sheet sheet;
  sheet.columns = {{"set", false}, {"call", false}, {"rows"}, {"median %"}, {"p90 %"}, {"worst %"}, {"signed %"}};
  for (const CallFigures& figures : judgement.by_set) {
    const std::string name = call_direction_name(figures.direction);
    add_errors(sheet, figures.set, name, figures.judging, false);
    add_errors(sheet, figures.set, name + ", fitted on", figures.fitted, true);
  }
  return sheet;
}

constexpr const char* kCallLegend =
    "Errors of predicted compared with measured times: median, 90th percentile and maximum of their size. signed: the "
    "mean with its sign, positive if the predicted time is too long.";

std::string call_summary(const CallJudgement& judgement) {
  const CallErrors& all = judgement.judging;
  if (all.rows == 0) return "Constants may have been fitted on every row: none judges.";
  return fmt::format(
      "{} of fused calls on {} predicted by {}: the median error is {} %, and nine of ten are within {} %.",
      counted(static_cast<std::size_t>(all.rows), "time"), judgement.measured->gpu.model, judgement.model,
      percent(all.median), percent(all.p90));
}

}  // namespace

std::string call_direction_name(CallDirection direction) {
  return direction == CallDirection::forward ? "forward" : "backward";
}

double PredictedCall::error_pct(CallDirection direction) const {
  const double predicted = direction == CallDirection::forward ? forward_us : backward_us;
  return 100 * (predicted / us_of(*call, direction) - 1);
}

CallErrors CallErrors::of(std::vector<double> errors_pct) {
  CallErrors result;
  result.rows = static_cast<int>(errors_pct.size());
  if (errors_pct.empty()) return result;
  double sum = 0;
  for (double& error : errors_pct) {
    sum += error;
    error = std::abs(error);
  }
  std::ranges::sort(errors_pct);
  const auto count = static_cast<double>(errors_pct.size());
  result.signed_mean = sum / count;
  result.median = errors_pct[errors_pct.size() / 2];
  result.p90 = errors_pct[static_cast<std::size_t>(kP90 * count)];
  result.worst = errors_pct.back();
  return result;
}

CallJudgement judge_calls(const MeasuredCalls& measured, const Tree& model_options) {
  const auto model = make_compute_model(model_options);
  const bool is_of_gpu = is_fitted_to(measured, model_options);
  CallJudgement result;
  result.measured = &measured;
  result.model = model_text(model_options);
  std::vector<double> all;
  for (const MeasuredCall& call : measured.calls) {
    const PredictedCall predicted{&call, model->seconds(call.lookup, measured.gpu).us(),
                                  model->seconds(call.update, measured.gpu).us(), is_of_gpu && call.fits};
    result.calls.push_back(predicted);
    for (const CallDirection direction : kDirections)
      if (!predicted.is_fitted) all.push_back(predicted.error_pct(direction));
  }
  for (const std::string& set : sets_of(measured))
    for (const CallDirection direction : kDirections)
      result.by_set.push_back({set, direction, errors_of(result.calls, set, direction, false),
                               errors_of(result.calls, set, direction, true)});
  result.judging = CallErrors::of(std::move(all));
  return result;
}

std::string call_judgement_json(const CallJudgement& judgement) {
  Json sets = Json::array();
  for (const CallFigures& figures : judgement.by_set)
    sets.push_back({{"set", figures.set},
                    {"call", call_direction_name(figures.direction)},
                    {"judging", errors_json(figures.judging)},
                    {"fitted", errors_json(figures.fitted)}});
  const Json root = {{"schema", kCallSchema},
                     {"version", version()},
                     {"measurements", judgement.measured->path},
                     {"gpu", judgement.measured->gpu.model},
                     {"compute_model", judgement.model},
                     {"overall", errors_json(judgement.judging)},
                     {"sets", sets}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string call_predictions_csv(const CallJudgement& judgement) {
  std::string csv =
      "line,set,shape,forward_us,forward_predicted_us,forward_error_pct,backward_us,backward_predicted_us,"
      "backward_error_pct,fits\n";
  for (const PredictedCall& each : judgement.calls) {
    const MeasuredCall& call = *each.call;
    csv += fmt::format("{},{},{},{:.6g},{:.6g},{:.2f},{:.6g},{:.6g},{:.2f},{}\n", call.place.line, csv_cell(call.set),
                       csv_cell(call.shape), call.forward_us, each.forward_us, each.error_pct(CallDirection::forward),
                       call.backward_us, each.backward_us, each.error_pct(CallDirection::backward),
                       each.is_fitted ? "yes" : "no");
  }
  return csv;
}

Document call_document(const CallJudgement& judgement, Medium medium) {
  const Paragraph summary{call_summary(judgement), Paragraph::Role::summary};
  const Paragraph legend{kCallLegend, Paragraph::Role::caption};
  Section sets{"By set", {sets_sheet(judgement)}};
  sets.style = medium == Medium::terminal ? Section::Heading::page_only : Section::Heading::as_it_is;
  Document document;
  if (medium == Medium::terminal) {
    document.blocks = {legend, std::move(sets), Section{"", {summary}}};
    return document;
  }
  document.title = "Fused lookups and updates: predicted against measured";
  document.origin =
      fmt::format("{}, compute model {}, shardsim {}", judgement.measured->path, judgement.model, version());
  document.blocks = {summary, legend, std::move(sets)};
  return document;
}

}  // namespace shardsim
