#include "cli/commands/torchrec_choice.h"

#include <algorithm>

#include "base/workers.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/read_planner.h"

namespace shardsim {
namespace {

// Knows of nothing but Ctrl-C.
class InterruptedHost : public PlannerHost {
 public:
  explicit InterruptedHost(const PlanWatch& watch) : watch_(watch) {}
  void stop_if_asked() const override { throw_if_interrupted(watch_.interrupted); }

 private:
  const PlanWatch& watch_;
};

}  // namespace

bool plans_by_torchrec(const Case& item) {
  return item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec";
}

torchrec::PlannerOptions torchrec_options(const Case& item) {
  Tree map = plans_by_torchrec(item) ? item.planner : named_map("torchrec"), memory = item.memory_model;
  share_torchrec_rules(map, memory);
  MapReader reader(map, "planner");
  reader.name("name");
  return torchrec::read_planner_options(reader);
}

torchrec::Choice torchrec_choice(const Case& item, torchrec::PlannerOptions options, std::uint64_t seed,
                                 const PlanWatch& watch) {
  const auto unsharded = std::ranges::find(item.workload.tables, false, &Table::sharded);
  if (unsharded != item.workload.tables.end())
    throw input_error(unsharded->place,
                      "table '" + unsharded->name + "' is not sharded, and TorchRec's planner alone would place it",
                      "Leave 'sharded: false' out here; run, plan and why know such tables");
  const auto memory = make_memory_model(item.memory_model);
  options.simulated = false;
  const InterruptedHost host(watch);
  const PlannerContext context{*memory, seed, host, item.constraints.by_table.empty() ? nullptr : &item.constraints};
  torchrec::Choice choice = torchrec::choose_plan(options, item.workload, cluster_of_plan(item), context);
  choice.request.settings.check_stop = {};  // which asks the host
  return choice;
}

}  // namespace shardsim
