#include "python/core/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/result_folder.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "plan/plan_file.h"
#include "plan/torchrec_types.h"
#include "python/core/watch.h"
#include "study/drift/drift_study.h"
#include "study/notes/notes.h"
#include "study/report/documents/answer_json.h"
#include "study/report/documents/drift_document.h"
#include "study/run/explained_case.h"
#include "study/why/why_document.h"

namespace shardsim::python {
namespace {

PlanWatch watched_by_python() {
  return {interrupted_in_python(), {}};
}

constexpr std::size_t kShownTables = 12;

// The model's table that an entry of a plan is for. Errors: there is none.
std::size_t model_table(const std::vector<ModelTable>& model, const std::string& module, const std::string& name,
                        const Place& place) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const ModelTable& table = model[i];
    if ((table.module.empty() || table.module == module) && (table.name == name || table.full_name == name)) return i;
    known.push_back(table.full_name);
  }
  throw input_error(place, fmt::format("the model has no table {} in a module {}", excerpt(name), excerpt(module)),
                    "Give a plan with the paths of the model's modules, as the scenarios of shardsim.torchrec make it. "
                    "The model has " +
                        first_names(known, kShownTables));
}

void check_size(const Table& placed, const ModelTable& of) {
  if (placed.rows == of.rows && placed.dim == of.dim) return;
  throw input_error(placed.place,
                    fmt::format("table '{}': the shards are of {} rows and {} columns, the model has {} and {}",
                                of.full_name, placed.rows, placed.dim, of.rows, of.dim),
                    "Place every row and column exactly once");
}

// With the kind that it has in the model, for a plan file alone does not say it.
void check_executable(const Placement& placement, Table placed, const ModelTable& of, int world_size) {
  placed.kind = of.kind;
  const RowRanks ranks{world_size, 0};
  if (!is_beyond_torchrec(placement, placed, ranks)) return;
  if (const std::string partial = partial_rows(placement, ranks); !partial.empty())
    throw input_error(
        placed.place, fmt::format("table '{}' is {}, and TorchRec needs a shard of it on each", of.full_name, partial),
        "Plan with torchrec_only (the scenarios of shardsim.torchrec do); for the plan of one group of 2D "
        "parallelism, give its ranks as world_size");
  throw input_error(
      placed.place,
      fmt::format("table '{}': TorchRec cannot execute {} in an {}", of.full_name,
                  is_tier(placement, placed) ? "tiers of rows" : std::string(strategy_name(placement.strategy)),
                  of.kind == TableKind::pooled ? "EmbeddingBagCollection" : "EmbeddingCollection"),
      "Plan with torchrec_only (the scenarios of shardsim.torchrec do)");
}

}  // namespace

int check_loaded_plan(const std::string& plan_json, const std::vector<ModelTable>& model, int world_size) {
  const Tree tree = parse_json(plan_json, "plan");
  const StandalonePlan alone = standalone_plan(tree, world_size);
  std::vector<const ModelTable*> of_entry;  // in the order of the plan, as the tables of `alone` are
  std::vector<bool> met(model.size(), false);
  for (const auto& [module, tables] : tree.find("plan")->fields)
    for (const auto& [name, entry] : tables.fields) {
      const std::size_t found = model_table(model, module, name, entry.place);
      of_entry.push_back(&model[found]);
      met[found] = true;
    }
  if (const auto absent = std::ranges::find(met, false); absent != met.end()) {
    const ModelTable& table = model[static_cast<std::size_t>(absent - met.begin())];
    throw input_error({"plan"}, fmt::format("table '{}': the plan does not place it", table.full_name),
                      "Make the plan for this model");
  }
  for (const Placement& placement : alone.plan.placements) {
    const auto index = static_cast<std::size_t>(placement.table);
    check_executable(placement, alone.workload.tables[index], *of_entry[index], alone.ranks);
  }
  for (std::size_t i = 0; i < of_entry.size(); ++i)
    if (std::ranges::find(alone.unsized, static_cast<int>(i)) == alone.unsized.end())
      check_size(alone.workload.tables[i], *of_entry[i]);
  return alone.ranks;
}

Answer why_answer(const Request& request, const std::string& case_name, bool path_only) {
  const ChosenCase chosen = chosen_case(request, case_name);
  const ExplainedCase explained = explained_case(*chosen.scenario, chosen.item(), !path_only, watched_by_python());
  std::vector<std::string> notes = notes_for(Asker::why, {chosen.item()});
  notes.insert(notes.end(), explained.notes.begin(), explained.notes.end());
  const auto document = [&](Medium medium) {
    Document of = why_document(explained.why, explained.help ? &*explained.help : nullptr, chosen.item().name, medium);
    of.origin = chosen.scenario->path;
    return of;
  };
  return {why_json(explained, *chosen.scenario, chosen.item()), std::move(notes), document(Medium::terminal),
          document(Medium::page)};
}

Answer drift_answer(const Request& request, const std::string& case_name, int jobs) {
  const ChosenCase chosen = chosen_case(request, case_name);
  const DriftOptions options = drift_options(request.text(), request.path(), request.changes());
  WorkerOptions workers;
  if (jobs > 0) workers.jobs = jobs;
  workers.interrupted = interrupted_in_python();
  const DriftResult result = drift_study(*chosen.scenario, chosen.item(), options, workers);
  return {drift_json(result, options, *chosen.scenario), notes_for(Asker::drift, {chosen.item()}),
          drift_document(result, options, *chosen.scenario, Medium::terminal),
          drift_document(result, options, *chosen.scenario, Medium::page)};
}

Checked check_answer(const Request& request) {
  return checked_scenario(request.text(), request.path(), request.changes(), watched_by_python());
}

Coverage confidence_answer() {
  return coverage_of(ErrorModel(shipped_residuals()));
}

std::string ImportAnswer::write(const std::string& folder, bool force) const {
  write_folder(folder, {"shardsim import", force},
               [this](const std::filesystem::path& hidden) { files.write(hidden); });
  return (std::filesystem::path(folder) / "scenario.yaml").string();
}

ImportAnswer import_answer(const ImportRequest& request) {
  const auto [model, setting] = imported(request);
  return {model_files(model, setting), assumptions(model, setting)};
}

}  // namespace shardsim::python
