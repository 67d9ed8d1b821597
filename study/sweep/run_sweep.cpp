#include "study/sweep/run_sweep.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/packed.h"
#include "base/result_folder.h"
#include "base/text.h"
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

namespace fs = std::filesystem;

constexpr int kNoSuchCommand = 127;  // as a shell says

// A file name in a directive: % stands for what tasks differ in, and the quotes of a directive know no escapes.
std::string directive_path(const fs::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == '"' || c == '\n')
      throw input_error({path.string()}, "a Slurm job cannot have a name with quotes or line ends",
                        "Choose another -o");
    text += c == '%' ? std::string("%%") : std::string(1, c);
  }
  return text;
}

struct CommandOutput {
  int code = 0;
  std::string text;
};

CommandOutput output_of(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw run_error(std::string("cannot start a shell: ") + std::strerror(errno), "");
  CommandOutput output;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.text.append(buffer, got);
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return output;
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, "; ");
  return printable(text);
}

// The output of the tasks is written by Slurm, which follows links.
void refuse_links(const SlurmJob& job) {
  std::error_code absent;
  for (int task = 0; task < job.tasks; ++task) {
    const fs::path file = job.folder / fmt::format("slurm-{}.txt", task);
    if (fs::is_symlink(file, absent))
      throw run_error(file.string() + ": a link is in the way of what the tasks print",
                      "Remove it, or choose another folder with -o");
  }
}

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

std::string slurm_script(const SlurmJob& job) {
  std::string command;
  for (const std::string& word : job.command) command += shell_quoted(word) + " ";
  return fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --array=0-{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output=\"{}/slurm-%a.txt\"\n"
      "cd {} || exit 1\n"
      "exec {}--part \"$SLURM_ARRAY_TASK_ID/{}\"\n",
      job.name, job.tasks - 1, job.cpus, directive_path(job.folder), shell_quoted(fs::current_path().string()), command,
      job.tasks);
}

std::string submit_slurm_job(const SlurmJob& job) {
  const fs::path script = job.folder / "sweep.sbatch";
  refuse_links(job);
  write_result(script, job.writer, slurm_script(job));
  const CommandOutput said = output_of("sbatch --parsable " + shell_quoted(script.string()));
  if (said.code == kNoSuchCommand)
    throw run_error("the command sbatch, which submits the job array, was not found",
                    "Run it on a machine with Slurm, or use -j N");
  if (said.code != 0)
    throw run_error(fmt::format("sbatch has refused {}: {}", script.string(), one_line(said.text)),
                    "Set what your site asks for in the environment (SBATCH_PARTITION), or run it with -j N");
  const std::string number = one_line(said.text);
  return number.substr(0, number.find(';'));  // the cluster's name may follow
}

}  // namespace shardsim
