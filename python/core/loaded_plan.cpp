#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/tree/json.h"
#include "plan/plan_file.h"
#include "plan/torchrec_types.h"
#include "python/core/bindings.h"

namespace shardsim::python {
namespace {

// A table of a model in TorchRec.
struct ModelTable {
  std::string module;     // the path of its collection; "": any
  std::string name;       // in its collection
  std::string full_name;  // in a workload, which a plan may have instead
  std::uint64_t rows = 0;
  std::int64_t dim = 0;
  TableKind kind = TableKind::pooled;
};

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

// Refuses a plan that TorchRec could not execute with this model, on so many ranks (0: as many as the plan names), of
// which it returns the number. Errors (Failure::input, with the line of the table): those of standalone_plan(); a table
// that the plan or the model lacks, or that has another size; what TorchRec's collections cannot run.
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

}  // namespace

void bind_loaded_plan(py::module_& module) {
  module.def(
      "check_loaded_plan",
      [](const std::string& plan,
         const std::vector<std::tuple<std::string, std::string, std::string, std::uint64_t, std::int64_t, bool>>& model,
         int world_size) {
        std::vector<ModelTable> tables;
        for (const auto& [path, name, full_name, rows, dim, pooled] : model)
          tables.push_back({path, name, full_name, rows, dim, pooled ? TableKind::pooled : TableKind::sequence});
        return without_gil([&] { return check_loaded_plan(plan, tables, world_size); });
      },
      py::arg("plan"), py::arg("model"), py::arg("world_size"));
}

}  // namespace shardsim::python
