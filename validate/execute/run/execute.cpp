#include "validate/execute/run/execute.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "models/access/row_hash.h"
#include "sim/program/program_file.h"
#include "validate/execute/buffers/data_check.h"
#include "validate/execute/buffers/lookup_buffers.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/run/observed_timeline.h"

namespace shardsim {
namespace {

constexpr double kStartDelay = 0.002;  // from the publication of a start time to the start: every rank has heard it
constexpr std::chrono::milliseconds kBetweenTicks{200};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void check_world(const Program& program, const Rendezvous& rendezvous) {
  if (program.world_size == rendezvous.world_size()) return;
  throw input_error({},
                    "the program is for " + std::to_string(program.world_size) + " ranks, and " +
                        std::to_string(rendezvous.world_size()) + " were started",
                    "Start one process per rank, or lower the case for that many");
}

// What must be the same on every rank, as one line each.
std::string terms_of(const IterationPrograms& programs, const ExecuteOptions& options) {
  const MachineOptions& machine = options.machine;
  std::string text;
  for (std::size_t turn = 0; turn < programs.size(); ++turn) text += program_to_json(programs[turn]);
  return "program " + std::to_string(fnv1a(text)) + "\n--device " + options.device + "\n--transport " +
         machine.transport + "\n--warmup " + std::to_string(options.warmup) + "\n--iterations " +
         std::to_string(options.iterations) + "\n--apart " + (options.apart ? "on" : "off") + "\n--check-data " +
         (machine.check_data ? "on" : "off");
}

// A rank with another program or other counts would leave the others waiting for ever.
void check_terms(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options) {
  const std::vector<std::string> all = rendezvous.all_gather(terms_of(programs, options), "comparing what to run");
  const std::vector<std::string> first = split(all.front(), '\n');
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<std::string> own = split(all[rank], '\n');
    for (std::size_t line = 0; line < std::min(first.size(), own.size()); ++line) {
      if (own[line] == first[line]) continue;
      const std::string what = line == 0 ? "another program than rank 0" : own[line] + ", rank 0 " + first[line];
      throw input_error({}, "rank " + std::to_string(rank) + " has " + what, "Start all ranks with the same arguments");
    }
  }
}

// Tells the other ranks what this one is doing until it ends: should this rank die, they name it.
std::jthread ticker(Rendezvous& rendezvous, const Machine& machine) {
  return std::jthread([&](const std::stop_token& over) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, over, kBetweenTicks, [&] { return over.stop_requested(); })) {
      const std::string doing = machine.doing();
      if (!doing.empty()) rendezvous.doing(doing);
    }
  });
}

// One run of the ranks: a machine that stops when the run fails, and the common start.
class Run {
 public:
  Run(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options)
      : rendezvous_(rendezvous), machine_(machine_named(options.device).make(programs, rendezvous, options.machine)) {
    rendezvous.on_failure([weak = std::weak_ptr<Machine>(machine_)](const std::string&) {
      if (const auto machine = weak.lock()) machine->stop();
    });
    offset_ = rendezvous.clock_offset();
  }
  ~Run() {
    rendezvous_.on_failure([](const std::string&) {});
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Machine& machine() { return *machine_; }

  // All ranks start at one time of rank 0's clock.
  void iterate(int first, int count, int first_kept) {
    rendezvous_.barrier("waiting for the start");
    const std::string start =
        rendezvous_.from_root(shortest(monotonic_seconds() + kStartDelay), "waiting for the start");
    rendezvous_.doing("the first operations");
    const std::jthread telling = ticker(rendezvous_, *machine_);
    machine_->run(first, count, first_kept, std::stod(start) - offset_.seconds);
  }

  // What this rank has to tell so far.
  RankReport report() {
    RankReport report;
    report.spans = machine_->take_spans();
    for (Span& span : report.spans) {
      span.start_us += offset_.seconds * 1e6;
      span.end_us += offset_.seconds * 1e6;
    }
    report.sent = machine_->sent();
    report.peak_bytes = machine_->ops().bytes();
    report.host = host_name();
    report.facts = machine_->facts();
    report.clock_residual_us = offset_.residual * 1e6;
    return report;
  }

 private:
  Rendezvous& rendezvous_;
  std::shared_ptr<Machine> machine_;
  Rendezvous::ClockOffset offset_;
};

void measure(Run& run, const ExecuteOptions& options) {
  const int all = options.warmup + options.iterations;
  if (!options.apart) return run.iterate(0, all, options.warmup);
  for (int iteration = 0; iteration < all; ++iteration) run.iterate(iteration, 1, options.warmup);
}

// The rendezvous weighs what the ranks say: a broken connection is not the cause when the rank behind it has died.
std::string settle_failure(Rendezvous& rendezvous, const Error& error, const std::string& doing) {
  rendezvous.fail(error.what(), doing);
  return rendezvous.failure().empty() ? error.what() : rendezvous.failure();
}

std::vector<RankReport> reports_of(const std::vector<std::string>& texts, int world_size) {
  std::vector<RankReport> reports(world_size);
  for (std::size_t rank = 0; rank < texts.size() && rank < reports.size(); ++rank) {
    if (!texts[rank].empty()) reports[rank] = RankReport::from_text(texts[rank]);
  }
  return reports;
}

// What was measured before the failure reaches the disk, marked incomplete.
void save_remains(Run& run, const IterationPrograms& programs, Rendezvous& rendezvous, Pace pace,
                  const std::function<void(const Timeline&)>& save) {
  const std::vector<std::string> texts = rendezvous.salvage(run.report().to_text());
  if (!texts.empty()) save(observed_timeline(programs, reports_of(texts, programs.first().world_size), pace, false));
}

// Replaces the machine's tables and gradients by whole numbers that every rank can work out: those that `reference`
// starts with.
void load_data(RankOps& ops, const Program& program, const Reference& reference,
               const std::vector<LookupBuffers>& lookups, int rank) {
  for (std::size_t shard = 0; shard < program.shards.size(); ++shard) {
    const std::vector<float> rows = reference.shard_rows(rank, static_cast<int>(shard));
    if (!rows.empty()) ops.load_rows(static_cast<int>(shard), rows);
  }
  for (const LookupBuffers& buffers : lookups) {
    const int lookup = buffers.fusion.lookup;
    std::vector<float> gradients;
    std::int64_t vector = 0;
    for (const ReturnedVectors& of : buffers.returned) {
      for (std::int64_t bag = 0; bag < of.bags; ++bag, ++vector) {
        for (std::int64_t c = 0; c < of.dim; ++c) gradients.push_back(gradient_value(rank, lookup, vector, c));
      }
    }
    ops.load_gradients(lookup, gradients);
  }
}

// Shard by shard: their vectors may have different widths.
std::string compare_vectors(RankOps& ops, const Program& program, const Reference& reference,
                            const LookupBuffers& buffers, int rank) {
  const int lookup = buffers.fusion.lookup;
  const std::string name = program.ops[lookup].name, who = "rank " + std::to_string(rank);
  const std::vector<float> got = ops.gathered(lookup), expected = reference.gathered(rank, lookup);
  std::size_t at = 0;
  for (const ReturnedVectors& of : buffers.returned) {
    const std::size_t end = at + static_cast<std::size_t>(of.bags * of.dim);
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(std::min(at, all.size())),
                                all.begin() + static_cast<std::ptrdiff_t>(std::min(end, all.size())));
    };
    const std::string& table = program.tables[program.shards[of.shard].table].name;
    const std::string what = buffers.fusion.pooled ? "bags of '" + table + "' by " + name : "rows gathered by " + name;
    const std::string difference = first_difference(part(got), part(expected), of.dim, who + ", " + what);
    if (!difference.empty()) return difference;
    at = end;
  }
  return first_difference(got, expected, 1, who + ", vectors by " + name);
}

std::string compare_shards(RankOps& ops, const Program& program, const Reference& reference, int rank) {
  for (std::size_t index = 0; index < program.shards.size(); ++index) {
    const int shard = static_cast<int>(index);
    const Program::Shard& about = program.shards[index];
    const std::string difference = first_difference(
        ops.shard_rows(shard), reference.shard_rows(rank, shard), about.column_end - about.column_begin,
        "rank " + std::to_string(rank) + ", updated rows of '" + program.tables[about.table].name + "'");
    if (!difference.empty()) return difference;
  }
  return {};
}

// "" when the vectors that the machine gathered last, and its updated rows, are those of `reference`; else where they
// differ first.
std::string compare_data(RankOps& ops, const Program& program, const Reference& reference,
                         const std::vector<LookupBuffers>& lookups, int rank) {
  for (const LookupBuffers& buffers : lookups) {
    const std::string difference = compare_vectors(ops, program, reference, buffers, rank);
    if (!difference.empty()) return difference;
  }
  return compare_shards(ops, program, reference, rank);
}

std::string checked(Run& run, const IterationPrograms& programs, Rendezvous& rendezvous, int iterations) {
  const int rank = rendezvous.rank();
  const Program& program = programs.first();
  std::vector<LookupBuffers> lookups, last;  // with the most gradients, and of the last iteration
  for (const std::vector<LookupBuffers>& turns : lookup_buffers(programs, rank)) {
    lookups.push_back(most_returned(turns));
    last.push_back(turns[programs.turn(iterations - 1)]);
  }
  Reference reference(programs);
  load_data(run.machine().ops(), program, reference, lookups, rank);
  for (int iteration = 0; iteration < iterations; ++iteration) run.iterate(iteration, 1, iterations);
  reference.iterate(iterations);
  const std::string own = compare_data(run.machine().ops(), program, reference, last, rank);
  for (const std::string& difference : rendezvous.all_gather(own, "comparing data")) {
    if (!difference.empty()) return difference;
  }
  return {};
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
  check_iteration_programs(programs);
  check_world(programs.first(), rendezvous);
  const Pace pace = options.apart ? Pace::apart : Pace::back_to_back;
  std::unique_ptr<Run> run;
  try {
    check_terms(programs, rendezvous, options);
    run = std::make_unique<Run>(programs, rendezvous, options);
    measure(*run, options);
    const auto texts = rendezvous.gather(run->report().to_text(), "collecting what was measured");
    if (rendezvous.rank() != 0) return {};
    return observed_timeline(programs, reports_of(texts, programs.first().world_size), pace, true);
  } catch (const std::bad_alloc&) {
    const Error error = run_error("out of memory", "Give this rank more memory, or execute a smaller case");
    throw Error(Failure::run, {}, settle_failure(rendezvous, error, run ? run->machine().doing() : "preparing"), "");
  } catch (const Error& error) {
    const std::string why = settle_failure(rendezvous, error, run ? run->machine().doing() : "preparing");
    if (run) save_remains(*run, programs, rendezvous, pace, save);
    throw Error(error.failure(), {}, why, "");
  }
}

std::string check_data(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options,
                       int iterations) {
  check_iteration_programs(programs);
  check_world(programs.first(), rendezvous);
  ExecuteOptions exact = options;
  exact.machine.check_data = true;
  exact.iterations = iterations;
  try {
    check_terms(programs, rendezvous, exact);
    Run run(programs, rendezvous, exact);
    return checked(run, programs, rendezvous, iterations);
  } catch (const Error& error) {
    throw Error(error.failure(), {}, settle_failure(rendezvous, error, "checking data"), "");
  }
}

}  // namespace shardsim
