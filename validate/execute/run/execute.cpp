#include "validate/execute/run/execute.h"

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/run/attempt.h"

namespace shardsim {
namespace {

void measure(RankRun& run, const ExecuteOptions& options) {
  const int all = options.warmup + options.iterations;
  const int at_once = options.apart ? 1 : all;
  for (int iteration = 0; iteration < all; iteration += at_once) run.iterate(iteration, at_once, options.warmup);
}

std::vector<RankReport> reports_of(const std::vector<std::string>& texts, int world_size) {
  std::vector<RankReport> reports(world_size);
  for (std::size_t rank = 0; rank < texts.size() && rank < reports.size(); ++rank) {
    if (!texts[rank].empty()) reports[rank] = RankReport::from_text(texts[rank]);
  }
  return reports;
}

// The measurements before the failure reach the disk, marked incomplete.
void save_remains(RankRun& run, const IterationPrograms& programs, Rendezvous& rendezvous, Pace pace,
                  const std::function<void(const Timeline&)>& save) {
  const std::vector<std::string> texts = rendezvous.salvage(run.report().to_text());
  if (!texts.empty()) save(observed_timeline(programs, reports_of(texts, programs.first().world_size), pace, false));
}

}  // namespace

const MachineEntry& machine_named(const std::string& name) {
  std::vector<std::string> known;
  for (const MachineEntry& entry : machines()) {
    if (entry.name == name) return entry;
    known.emplace_back(entry.name);
  }
  const bool not_built = name == "cuda";
  throw input_error(
      {"argument --device"}, not_built ? "this build has no CUDA part" : "unknown device " + excerpt(name),
      not_built ? "Build where nvcc and NCCL are found, or use --device cpu" : known_names_hint(name, known));
}

Timeline execute(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options,
                 const std::function<void(const Timeline&)>& save) {
  const Pace pace = options.apart ? Pace::apart : Pace::back_to_back;
  Timeline timeline;
  Attempt attempt(rendezvous, options);
  attempt.save_by([&](RankRun& run) { save_remains(run, programs, rendezvous, pace, save); },
                  [&] {
                    if (rendezvous.rank() == 0) save(timeline);
                  });
  attempt.run(programs, [&](RankRun& run) {
    measure(run, options);
    run.finish(options.warmup + options.iterations, options.iterations, !options.apart);
    const auto texts = rendezvous.gather(run.report().to_text(), "collecting what was measured");
    if (rendezvous.rank() != 0) return;
    timeline = observed_timeline(programs, reports_of(texts, programs.first().world_size), pace, true);
  });
  return timeline;
}

}  // namespace shardsim
