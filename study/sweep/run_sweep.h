#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result_folder.h"
#include "study/sweep/crew.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {

// Every `count`-th point from `number` on: the work of one task of a job array.
struct SweepPart {
  std::uint32_t number = 0, count = 1;
};

struct SweepRun {
  std::filesystem::path output;
  std::optional<SweepPart> part{};  // nothing: all points, and no other process in this folder
  // Makes those who simulate, when there is something to do; `task` does so in this process.
  std::function<std::unique_ptr<Crew>(std::size_t points, PointTask task)> crew;
  // Processes that make the plans that the points keep, before any of those who simulate is there, so that each plan is
  // made once. 0: whoever simulates makes those that it needs, as on other machines.
  int planners = 0;
  // Called once before the first point, with those of this run's points that were finished before; may be empty.
  std::function<void(std::size_t earlier)> started{};
  // Takes a sentence about a file in the folder of points that cannot be used; may be empty.
  std::function<void(const std::string& sentence)> note{};
  std::function<void(std::size_t done, std::size_t total)> progress{};  // of this run's points; may be empty
  std::function<bool()> interrupted{};                                  // may be empty
  // The points that are simulated with index_dedup, too, for those who read the result; may be empty.
  std::function<std::vector<std::size_t>(const SweepResult&)> told{};
  // Writes the result files, when every point is finished; no other process does so meanwhile.
  std::function<void(const SweepResult&)> write;
};

// The outcome of a run.
struct SweepOutcome {
  std::size_t points = 0;               // that this run had to see to
  std::size_t earlier = 0;              // of them, those that were finished before
  std::size_t finished = 0;             // of all points of the sweep, in the folder
  std::optional<SweepResult> result{};  // where all are
};

// Simulates the points of a sweep that are not finished yet, and keeps each in the output folder as it comes
// (PointFiles): whoever calls again goes on. Results come in the order of the axes, whoever finished them when. Errors:
// those of PointFiles, PointWriter and hand_out(); Failure::run when another process is at work in the folder, or a
// process that simulates has another sweep than this one; Interrupted. The points that were finished are kept on any of
// them.
SweepOutcome run_sweep(const Sweep& sweep, const SweepRun& run);

// Returns how many points of a sweep are not finished yet. Errors: as run_sweep().
std::size_t unfinished_points(const Sweep& sweep, const std::filesystem::path& output);

// A sweep as an array of Slurm tasks, each of which does one part of it.
struct SlurmJob {
  std::string name;
  int tasks = 1;
  int cpus = 1;                      // of a task: its processes
  std::filesystem::path folder;      // where the script and what tasks print go
  std::vector<std::string> command;  // of a task, without its part
  ResultWriter writer;               // of the script
};

// The script for sbatch: directives, and the command with "--part NUMBER/TASKS".
std::string slurm_script(const SlurmJob& job);

// Writes the script into the folder and hands it to sbatch; returns the number of the job. Options that the script does
// not state come from the environment, as sbatch has it (SBATCH_PARTITION). Errors (Failure::run): no sbatch here; what
// sbatch says when it refuses, or does not reach slurmctld.
std::string submit_slurm_job(const SlurmJob& job);

}  // namespace shardsim
