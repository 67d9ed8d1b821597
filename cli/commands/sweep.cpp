#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/packed.h"
#include "base/result_folder.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "base/workers.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "study/report/documents/sweep_document.h"
#include "study/report/page.h"
#include "study/sweep/axis_trial.h"
#include "study/sweep/mpi_session.h"
#include "study/sweep/point_cases.h"
#include "study/sweep/point_files.h"
#include "study/sweep/point_simulator.h"
#include "study/sweep/read_sweep.h"
#include "study/sweep/run_sweep.h"

namespace shardsim {
namespace {

constexpr int kMostSweepJobs = 1024;
constexpr std::int64_t kMostParts = 100'000;

// "3/8" as part 3 of 8, counted from 0.
std::optional<SweepPart> sweep_part(const Arguments& given) {
  const auto text = given.value("part");
  if (!text) return std::nullopt;
  const std::size_t slash = text->find('/');
  if (slash != std::string::npos) {
    const Place place = Arguments::place("part");
    const std::int64_t number = parse_count(text->substr(0, slash), place);
    const std::int64_t count = parse_count(text->substr(slash + 1), place);
    if (number < count && count <= kMostParts)
      return SweepPart{static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(count)};
  }
  throw input_error(Arguments::place("part"), excerpt(*text) + " is not of the form K/N",
                    fmt::format("Write 0/N to N-1/N, N at most {}", kMostParts));
}

std::filesystem::path sweep_folder(const Arguments& given) {
  const std::string stem = result_name(given);
  return output_folder(given, "sweep", std::filesystem::path("out") / (stem + "-sweep"));
}

Sweep asked_sweep(const Arguments& given) {
  SweepRequest request;
  request.only_case = given.text("case");
  if (const auto most = given.count("most-points", 1, kMostAllowedPoints))
    request.most_points = static_cast<std::uint64_t>(*most);
  return read_sweep(given.positional()[0], overrides(given), request);
}

// As asked, or by samples per second where the points have no such figure.
SweepOrder possible_order(const Arguments& given, const SweepResult& result) {
  const SweepOrder asked = sweep_order(given.text("sort"));
  return order_fault(result, asked).empty() ? asked : SweepOrder::samples;
}

// Before hours of work: the cost of points whose cluster, the same for all, has no price.
void refuse_costless_order(const Arguments& given, const Sweep& sweep) {
  if (sweep_order(given.text("sort")) != SweepOrder::cost) return;
  const bool of_cluster = std::ranges::any_of(sweep.dimensions, [](const SweepDimension& dimension) {
    return std::ranges::any_of(dimension.axes, [](const Axis& axis) { return axis.path.starts_with("cluster"); });
  });
  if (of_cluster || sweep.points.empty() || PointCases(sweep).at(0).cluster.cost_per_gpu_hour) return;
  throw input_error(Arguments::place("sort"), "no point has a price",
                    "State cost_per_gpu_hour in the cluster, or sort by another figure");
}

void write_sweep_files(const SweepResult& result, const std::filesystem::path& folder, const ResultWriter& writer,
                       SweepOrder order) {
  const std::vector<SweepColumn> columns = sweep_columns(result);
  write_folder(folder, writer, [&](const std::filesystem::path& hidden) {
    write_file(hidden / "sweep.csv", sweep_csv(columns));
    write_sweep_hdf5(hidden / "sweep.h5", *result.sweep, columns);
    write_file(hidden / "report.html", sweep_html(result, order));
  });
}

// 0, or 1 with a line that says how many points have no result, and why the first has none.
int sweep_verdict(const SweepResult& result) {
  const std::size_t lost = result.without_result();
  if (lost == 0) return 0;
  std::size_t unfit = 0;
  const PointResult* first = nullptr;
  for (const PointResult& each : result.results) {
    if (each.outcome == PointResult::Outcome::ok) continue;
    if (first == nullptr) first = &each;
    unfit += each.outcome == PointResult::Outcome::does_not_fit ? 1 : 0;
  }
  return report_error(1, fmt::format("{} of {} have no result{}. The first is point {}: {}", lost,
                                     counted(result.results.size(), "point"),
                                     unfit == 0 ? "" : fmt::format(" ({} of them do not fit in memory)", unfit),
                                     first->point, first->message));
}

int tell_sweep(const SweepOutcome& outcome, const Sweep& sweep, const std::filesystem::path& folder,
               const Arguments& given, const Terminal& terminal) {
  const bool quiet = given.has("quiet");
  if (!outcome.result) {
    if (!quiet)
      print_note(fmt::format("{} of {} are finished; the other parts are not", outcome.finished,
                             counted(sweep.points.size(), "point")));
    return 0;
  }
  const SweepOrder order = possible_order(given, *outcome.result);
  if (const std::string fault = order_fault(*outcome.result, sweep_order(given.text("sort"))); !quiet && !fault.empty())
    print_note(fmt::format("not sorted by {}: {}", given.text("sort"), fault));
  const Medium medium = shows_details(given) ? Medium::terminal : Medium::screen;
  print_result(shown_text(sweep_document(*outcome.result, medium, order), given, terminal));
  if (!quiet) {
    say(fmt::format("report: {}", (folder / "report.html").string()));
    if (const std::string missing = missing_charts_text(); !missing.empty()) say(missing);
  }
  return sweep_verdict(*outcome.result);
}

void announce(const Sweep& sweep, std::size_t earlier) {
  const std::size_t left_out = sweep.product - sweep.points.size();
  const std::string shape = sweep.dimensions.size() > 1 ? fmt::format(" ({})", sweep.shape()) : "";
  print_note(fmt::format("{} point{}{}{}", with_thousands(static_cast<std::int64_t>(sweep.points.size())),
                         sweep.points.size() == 1 ? "" : "s", shape,
                         left_out > 0 ? fmt::format(", {} left out by conditions", left_out) : ""));
  for (const std::string& sentence : dropped_by_axes(sweep)) print_note(sentence);
  for (const Error& error : wrong_values(sweep))
    print_note(fmt::format("no point has a result with this value: {}", error.what()));
  if (earlier > 0) print_note(fmt::format("{} of them were finished before", earlier));
}

// The words of this command for one task, without its part.
std::vector<std::string> task_command(const Arguments& given, const std::filesystem::path& folder, std::int64_t jobs) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                    "sweep",
                                    given.positional()[0],
                                    "--quiet",
                                    "--jobs",
                                    fmt::format("{}", jobs),
                                    "--output",
                                    std::filesystem::absolute(folder).string()};
  if (given.has("force")) words.push_back("--force");
  const std::vector<std::string> changes = given_scenario_options(given);
  words.insert(words.end(), changes.begin(), changes.end());
  for (const char* const option : {"case", "most-points", "sort"}) {
    for (const std::string& value : given.values(option)) {
      words.push_back(std::string("--") + option);
      words.push_back(value);
    }
  }
  return words;
}

// The number of Slurm tasks that --slurm asks for, also where nothing is left for them. Errors: Failure::input beside
// --part, or under mpirun.
std::optional<std::int64_t> slurm_tasks(const Arguments& given, bool under_mpi) {
  const auto tasks = given.count("slurm", 1, kMostParts);
  if (tasks && given.has("part"))
    throw input_error(Arguments::place("part"), "--part and --slurm cannot be used together", "Give one of the two");
  if (tasks && under_mpi)
    throw input_error(Arguments::place("slurm"), "mpirun has started several processes already, and those do the work",
                      "Submit the sweep without mpirun");
  return tasks;
}

// Hands what is not finished to Slurm, and returns at once.
int submit_sweep(const Arguments& given, const Sweep& sweep, const std::filesystem::path& folder,
                 std::int64_t most_tasks) {
  const auto most = static_cast<std::int64_t>(unfinished_points(sweep, folder));
  const std::int64_t tasks = std::min(most_tasks, most);
  const std::int64_t jobs = given.count("jobs", 1, kMostSweepJobs).value_or(1);
  const SlurmJob job{"shardsim-sweep",
                     static_cast<int>(tasks),
                     static_cast<int>(jobs),
                     std::filesystem::absolute(points_folder(folder)),
                     task_command(given, folder, jobs),
                     {given.command() + " --slurm", given.has("force")}};
  const std::string number = submit_slurm_job(job);
  print_lines(
      fmt::format("Slurm job {}: {} for {}. The last one to end writes the results into {};\n"
                  "the same command without --slurm finishes what any of them has left.\n",
                  number, counted(static_cast<std::size_t>(tasks), "task"),
                  counted(static_cast<std::size_t>(most), "point"), folder.string()));
  return 0;
}

// A rank that mpirun has started beside rank 0, which alone speaks.
int serve_rank(const Arguments& given, const Terminal& terminal, MpiSession& session) {
  say_when_stopped("");  // mpirun ends the ranks that are left when rank 0 has refused something
  try {
    const Sweep sweep = asked_sweep(given);
    PointSimulator simulator(sweep);
    session.serve([&](std::uint32_t point) { return packed(simulator.simulate(point)); }, terminal.interrupted);
  } catch (const Error& error) {
    session.give_up(error.what());
  }
  return 0;
}

std::size_t sweep_jobs(const Arguments& given, bool under_mpi) {
  const auto stated = given.count("jobs", 1, kMostSweepJobs);
  if (stated && under_mpi)
    throw input_error(Arguments::place("jobs"), "mpirun has started several processes already, and those do the work",
                      "Leave --jobs out and use mpirun -n N, where N is one more than the processes that simulate");
  return static_cast<std::size_t>(stated.value_or(std::min<std::int64_t>(processors(), kMostSweepJobs)));
}

// Errors: as run_sweep(); when it is interrupted it says that nothing is lost.
SweepOutcome finished_sweep(const Sweep& sweep, SweepRun run, bool quiet, const Terminal& terminal) {
  Progress progress("simulating the points", quiet);
  std::size_t finished = 0, before = 0;
  run.progress = [&](std::size_t done, std::size_t total) {
    finished = before + done;
    progress.count("points", static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
  };
  run.interrupted = terminal.interrupted;
  if (!quiet) run.note = print_note;
  run.started = [&](std::size_t earlier) {
    finished = before = earlier;
    if (!quiet) announce(sweep, earlier);
  };
  try {
    return run_sweep(sweep, run);
  } catch (const Interrupted&) {
    progress.clear();
    if (!quiet)
      print_note(fmt::format("{} of {} are finished and kept in {}; the same command continues with the others",
                             with_thousands(static_cast<std::int64_t>(finished)), counted(sweep.points.size(), "point"),
                             run.output.string()));
    throw;
  }
}

int run_points(const Arguments& given, const Terminal& terminal) {
  // From the first point on, under MPI from the start: what is finished is kept, and the user is told so.
  std::optional<StopDelay> in_order;
  const std::unique_ptr<MpiSession> session = MpiSession::join();
  if (session) in_order.emplace();
  if (session && session->rank() > 0) return serve_rank(given, terminal, *session);
  const std::size_t jobs = sweep_jobs(given, session != nullptr);
  const auto tasks = slurm_tasks(given, session != nullptr);
  SweepRun run;
  run.output = sweep_folder(given);
  run.part = sweep_part(given);
  const Sweep sweep = asked_sweep(given);
  refuse_costless_order(given, sweep);
  note_dropped_edits(given);
  const ResultWriter writer = result_writer(given);
  check_results(run.output, writer, {"report.html", "sweep.csv", "sweep.h5"});
  if (tasks && unfinished_points(sweep, run.output) > 0) return submit_sweep(given, sweep, run.output, *tasks);
  run.crew = [&](std::size_t points, PointTask task) -> std::unique_ptr<Crew> {
    if (!in_order) in_order.emplace();
    if (session) return session->crew();
    return make_local_crew(static_cast<int>(std::min(jobs, points)), std::move(task));
  };
  run.planners = session ? 0 : static_cast<int>(jobs);
  run.told = [&](const SweepResult& result) { return told_points(result, possible_order(given, result)); };
  run.write = [&](const SweepResult& result) {
    write_sweep_files(result, run.output, writer, possible_order(given, result));
  };
  const SweepOutcome outcome = finished_sweep(sweep, run, given.has("quiet"), terminal);
  return tell_sweep(outcome, sweep, run.output, given, terminal);
}

std::vector<Option> sweep_options() {
  return {{"output", 'o', "DIR",
           "Write the result files into this folder. Without this option it is out/NAME-sweep, where NAME is the name "
           "of the scenario."},
          {"case", 0, "NAME", "Take this case instead of the one that the key `sweep` names."},
          {"jobs", 'j', "N",
           "Run at most this number of simulations at a time. Without this option it is the number of processors."},
          {"most-points", 0, "N", "Refuse a sweep with more points than this.", "1000000"},
          {"part", 0, "K/N",
           "Simulate only part K of N of the points: every N-th point, starting with the K-th. The other parts may run "
           "at the same time and write into the same folder."},
          {"slurm", 0, "N", "Submit the sweep to Slurm as an array of N tasks, and return without waiting for them."},
          {.name = "sort",
           .value = "FIGURE",
           .help = "Show the points with the best of this figure first.",
           .standard = "samples",
           .choices = sweep_order_words()},
          details_option(),
          force_in_folder_option(),
          {"quiet", 'q', "", "Do not print progress and notes."}};
}

}  // namespace

Command sweep_command() {
  return {.name = "shardsim sweep",
          .summary = "simulate one case at many points: with other rates, batch sizes, numbers of nodes or planners",
          .positionals = {{"SCENARIO", "A scenario file with the key `sweep`, which lists the values to try."}},
          .options = sweep_options() + scenario_options(),
          .notes =
              "Finished points are kept in DIR/points. After Ctrl-C, the same command continues with the points that "
              "are missing. They belong to the sweep as it was: where you have edited its axes, or anything else that "
              "it varies or keeps, choose another folder with -o, or remove the old one.\n",
          .examples = {"shardsim sweep scenarios/sweep_nics_batch.yaml -o out/nics",
                       "shardsim sweep scenarios/sweep_planners.yaml -j 2 -o out/planner_sweep"},
          .run = run_points};
}

}  // namespace shardsim
