#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accuracy/measurements/judgement.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/judgement/figures.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kJudgementSchema = "shardsim.collective_comparison/1";

// The named figures first, then every band in full; `before_bands` stands between them.
void add_figures(Json& object, const BandFigures& figures, const Json& before_bands = Json::object()) {
  const ErrorFigures& from_1mib = figures.from_1mib();
  object["median_abs_error_pct_below_64KiB"] = percent_json(figures.bands[0].median_abs_pct);
  object["median_abs_error_pct_64KiB_to_1MiB"] = percent_json(figures.bands[1].median_abs_pct);
  object["median_abs_error_pct_from_1MiB"] = percent_json(from_1mib.median_abs_pct);
  object["p95_abs_error_pct_from_1MiB"] = percent_json(from_1mib.p95_abs_pct);
  object["signed_error_pct_from_1MiB"] = percent_json(from_1mib.signed_pct);
  object.update(before_bands);
  object["bands"] = bands_json(figures);
}

Json overall_json(const BandFigures& figures, int out_of_model_rows) {
  Json object = {{"rows", figures.rows}, {"systems", figures.groups}};
  add_figures(object, figures, {{"out_of_model_rows", out_of_model_rows}});
  return object;
}

Json collectives_json(const Judgement& judgement) {
  Json list = Json::array();
  for (const auto& [kind, figures] : judgement.by_kind) {
    list.push_back({{"collective", collective_kind_name(kind)}, {"rows", figures.rows}, {"systems", figures.groups}});
    add_figures(list.back(), figures);
  }
  return list;
}

Json systems_json(const Judgement& judgement) {
  Json list = Json::array();
  for (const SystemFigures& system : judgement.systems) {
    list.push_back({{"system", system.system},
                    {"collective", collective_kind_name(system.kind)},
                    {"cluster", system.cluster},
                    {"fits", fits_words(system.fits).key},
                    {"in_model", system.out_of_model.empty()},
                    {"reason", system.out_of_model.empty() ? Json(nullptr) : Json(system.out_of_model)},
                    {"rows", system.figures.rows}});
    add_figures(list.back(), system.figures);
  }
  return list;
}

}  // namespace

std::string judgement_json(const Judgement& judgement) {
  Json root = {{"schema", kJudgementSchema},
               {"version", version()},
               {"measurements", judgement.measurements},
               {"clusters", judgement.map},
               {"overall", overall_json(judgement.overall, judgement.out_of_model_rows)},
               {"overall_with_out_of_model", overall_json(judgement.with_out_of_model, judgement.out_of_model_rows)},
               {"overall_unfitted",
                judgement.unfitted ? overall_json(*judgement.unfitted, judgement.out_of_model_rows) : Json(nullptr)},
               {"incomplete_rows", judgement.incomplete},
               {"one_gpu_rows", judgement.of_one_gpu},
               {"collectives", collectives_json(judgement)},
               {"systems", systems_json(judgement)}};
  return root.dump(1) + "\n";
}

std::string predictions_csv(const Judgement& judgement) {
  std::string csv =
      "system,case,collective,nodes,gpus_per_node,groups_at_once,size_bytes,calls,measured_us,predicted_us,error_pct,"
      "algorithm,protocol,bottleneck,network,out_of_model\n";
  for (const JudgedRow& row : judgement.rows) {
    const MeasuredRow& m = row.measured;
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(m.system), csv_cell(m.setting),
                       collective_kind_name(m.kind), m.nodes, m.gpus_per_node, m.groups_at_once, *m.bytes, m.calls,
                       csv_cells(row.pair()), row.prediction.algorithm, row.prediction.protocol,
                       csv_cell(row.prediction.bottleneck), row.network, csv_cell(row.out_of_model));
  }
  return csv;
}

}  // namespace shardsim
