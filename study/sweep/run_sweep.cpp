#include "study/sweep/run_sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/packed.h"
#include "base/workers.h"
#include "study/sweep/point_files.h"
#include "study/sweep/point_simulator.h"

namespace shardsim {
namespace {

using Results = std::vector<std::optional<PointResult>>;

// Errors: Failure::run when another process holds the lock.
FolderLock locked(const std::filesystem::path& output, const std::string& name, FolderLock::Kind kind) {
  if (auto held = FolderLock::try_lock(points_folder(output) / name, kind)) return std::move(*held);
  throw run_error(output.string() + ": another shardsim is writing to this folder",
                  "Wait for it, stop it, or choose another folder with -o");
}

class SweepRunner {
 public:
  SweepRunner(const Sweep& sweep, const SweepRun& run) : sweep_(sweep), run_(run), files_(run.output, sweep) {}

  SweepOutcome finish() {
    const FolderLock whole = lock("lock", run_.part ? FolderLock::Kind::shared : FolderLock::Kind::alone);
    SweepOutcome outcome;
    if (!run_.part) {
      simulate("local.points", outcome);
      collect(outcome);
      return outcome;
    }
    {
      const std::string name = fmt::format("part-{}-of-{}", run_.part->number, run_.part->count);
      const FolderLock own = lock(name + ".lock", FolderLock::Kind::alone);
      simulate(name + ".points", outcome);
    }
    // Whoever comes here last finds all points, and writes the results.
    const FolderLock alone = FolderLock::wait_for(files_.folder() / "merge.lock");
    collect(outcome);
    return outcome;
  }

 private:
  FolderLock lock(const std::string& name, FolderLock::Kind kind) const { return locked(run_.output, name, kind); }

  bool is_mine(std::size_t point) const { return !run_.part || point % run_.part->count == run_.part->number; }

  void simulate(const std::string& file, SweepOutcome& outcome) {
    const Results before = files_.read();
    tell_unusable();
    std::vector<std::uint32_t> pending;
    for (std::size_t point = 0; point < before.size(); ++point) {
      if (!is_mine(point)) continue;
      ++outcome.points;
      if (before[point])
        ++outcome.earlier;
      else
        pending.push_back(static_cast<std::uint32_t>(point));
    }
    if (run_.started) run_.started(outcome.earlier);
    if (pending.empty()) return;
    PointWriter writer(files_.folder() / file);
    PointSimulator simulator(sweep_);  // of the process that does the work: forked members have copies
    if (run_.planners > 0) simulator.make_kept_plans(pending, {run_.planners, {}, run_.interrupted});
    const auto crew = run_.crew(pending.size(), [&](std::uint32_t point) { return packed(simulator.simulate(point)); });
    std::size_t done = 0;
    CrewWatch watch;
    watch.finished = [&](PointResult result) {
      const bool died = result.outcome == PointResult::Outcome::died;
      if (died) result.sweep = files_.digest();  // nobody was left to say it
      require_this_sweep(result);
      writer.append(result);
      if (died) died_.push_back(result);
      ++done;
      if (run_.progress) run_.progress(done, pending.size());
    };
    watch.waiting = [&] { throw_if_interrupted(run_.interrupted); };
    hand_out(*crew, pending, watch, [&](std::uint32_t point) { return simulator.group_of(point); });
  }

  void tell_unusable() const {
    if (!run_.note) return;
    for (const std::filesystem::path& file : files_.unusable())
      run_.note(file.string() + " is not used: it is of another version of shardsim, or no file of points");
  }

  // The ranks of an mpirun read the scenario each for itself, and machines may have different files of one name.
  void require_this_sweep(const PointResult& result) const {
    if (result.sweep == files_.digest()) return;
    throw run_error(
        fmt::format("{}: a process that simulates has another sweep than the one that writes the results", sweep_.path),
        "Give all processes the same command, version and files, and leave the files as they are meanwhile");
  }

  // Points that died in this run are told as they are, unless other processes may still try them.
  void collect(SweepOutcome& outcome) {
    Results results = files_.read();
    for (const PointResult& each : died_) {
      if (!run_.part && !results[each.point]) results[each.point] = each;
    }
    outcome.finished =
        static_cast<std::size_t>(std::ranges::count_if(results, [](const auto& result) { return result.has_value(); }));
    if (outcome.finished < results.size()) return;
    std::vector<PointResult> all;
    for (std::optional<PointResult>& each : results) all.push_back(std::move(*each));
    outcome.result = sweep_result(sweep_, std::move(all));
    if (run_.told) add_without_duplicates(*outcome.result);
    run_.write(*outcome.result);
  }

  // Each in a process of its own: a network may allow one engine in a process, and what is only told in passing ends no
  // sweep, whatever becomes of it.
  void add_without_duplicates(SweepResult& result) const {
    std::vector<WorkerTask> tasks;
    for (const std::size_t point : run_.told(result)) {
      WorkerTask task;
      task.name = "index_dedup of " + sweep_.base.name;
      task.run = [this, point] { return packed(PointSimulator(sweep_).without_duplicates(point)); };
      task.taken = [&result, point](std::string_view bytes) {
        if (const auto without = unpacked<std::optional<WithoutDuplicates>>(bytes))
          result.without_duplicates.emplace(point, *without);
      };
      task.failed = [](const Error&) {};
      tasks.push_back(std::move(task));
    }
    run_in_workers(tasks, {std::max(run_.planners, 1), {}, run_.interrupted});
  }

  const Sweep& sweep_;
  const SweepRun& run_;
  PointFiles files_;
  std::vector<PointResult> died_;
};

}  // namespace

std::size_t unfinished_points(const Sweep& sweep, const std::filesystem::path& output) {
  const PointFiles files(output, sweep);
  const FolderLock alone = locked(output, "lock", FolderLock::Kind::alone);
  const Results results = files.read();
  return static_cast<std::size_t>(std::ranges::count_if(results, [](const auto& result) { return !result; }));
}

SweepOutcome run_sweep(const Sweep& sweep, const SweepRun& run) {
  return SweepRunner(sweep, run).finish();
}

}  // namespace shardsim
