#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "accuracy/measurements/kernels/kernel_judgement.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/judgement/figures.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kComputeSchema = "shardsim.compute_comparison/1";

constexpr std::array kOfRows = {ErrorFigure::median, ErrorFigure::mean, ErrorFigure::p95, ErrorFigure::worst,
                                ErrorFigure::bias};

Json rows_json(const BandFigures& figures) {
  Json rows = figures_json(figures.all(), kOfRows);
  rows["bands"] = bands_json(figures);
  return rows;
}

Json list_json(const std::vector<KernelFigures>& list) {
  Json all = Json::array();
  for (const KernelFigures& figures : list) {
    Json one = Json::object();
    if (!figures.gpu.empty()) one["gpu"] = figures.gpu;
    one["kind"] = kernel_kind_name(figures.kind);
    one["predicted"] = rows_json(figures.predicted);
    one["fitted"] = rows_json(figures.fitted);
    all.push_back(std::move(one));
  }
  return all;
}

Json row_json(const JudgedKernel& judged) {
  const KernelRow& row = judged.row;
  const bool is_in = judged.out_of_model.empty();
  return {{"id", row.id},
          {"kind", kernel_kind_name(row.kind)},
          {"op", row.op},
          {"gpu", is_in ? Json(judged.gpu) : Json(nullptr)},
          {"gpu_of_source", row.sizes.gpu},
          {"assumed", judged.assumed.empty() ? Json(nullptr) : Json(judged.assumed)},
          {"shape", is_in ? Json(row.shape()) : Json(nullptr)},
          {"measured_us", row.sizes.time_us > 0 ? Json(row.sizes.time_us) : Json(nullptr)},
          {"predicted_us", is_in ? Json(judged.predicted_us) : Json(nullptr)},
          {"error_pct", is_in ? percent_json(judged.error_pct()) : Json(nullptr)},
          {"fitted", judged.is_fitted},
          {"out_of_model", is_in ? Json(nullptr) : Json(judged.out_of_model)}};
}

}  // namespace

std::string kernel_judgement_json(const KernelJudgement& judgement) {
  Json out = Json::array(), rows = Json::array();
  for (const auto& [reason, count] : judgement.out_of_model) out.push_back({{"reason", reason}, {"rows", count}});
  for (const JudgedKernel& row : judgement.rows) rows.push_back(row_json(row));
  const Json root = {
      {"schema", kComputeSchema},
      {"version", version()},
      {"measurements", judgement.measurements},
      {"map", judgement.map},
      {"compute_model", judgement.model},
      {"constants", judgement.constants},
      {"overall", {{"predicted", rows_json(judgement.predicted)}, {"fitted", rows_json(judgement.fitted)}}},
      {"kinds", list_json(judgement.by_kind)},
      {"gpus", list_json(judgement.by_gpu)},
      {"out_of_model", out},
      {"rows", rows}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string kernel_predictions_csv(const KernelJudgement& judgement) {
  std::string csv =
      "id,gpu,kind,op,shape,operand_bytes,measured_us,predicted_us,error_pct,fitted,assumed,out_of_model\n";
  for (const JudgedKernel& judged : judgement.rows) {
    const KernelRow& row = judged.row;
    const bool is_in = judged.out_of_model.empty();
    const std::string figures =
        is_in ? fmt::format("{},{:.0f},{}", csv_cell(row.shape()), row.operand_bytes(), csv_cells(judged.pair()))
              : ",,,,";
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", csv_cell(row.id), csv_cell(is_in ? judged.gpu : row.sizes.gpu),
                       kernel_kind_name(row.kind), csv_cell(row.op), figures, judged.is_fitted ? "yes" : "no",
                       csv_cell(judged.assumed), csv_cell(judged.out_of_model));
  }
  return csv;
}

}  // namespace shardsim
