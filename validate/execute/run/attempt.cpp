#include "validate/execute/run/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "models/access/row_hash.h"
#include "program/program_file.h"
#include "validate/execute/meet/clock.h"
#include "validate/execute/meet/layout.h"

namespace shardsim {
namespace {

constexpr double kStartDelay = 0.002;  // from the publication of a start time to the start: every rank has heard it
constexpr std::chrono::milliseconds kBetweenTicks{200};

void check_world(const Program& program, const Rendezvous& rendezvous) {
  if (program.world_size == rendezvous.world_size()) return;
  throw input_error({},
                    "the program is for " + std::to_string(program.world_size) + " ranks, and " +
                        std::to_string(rendezvous.world_size()) + " were started",
                    "Start one process per rank, or lower the case for that many");
}

// The terms that must be the same on every rank, as one line each.
std::string terms_of(const IterationPrograms& programs, const ExecuteOptions& options) {
  const MachineOptions& machine = options.machine;
  std::string text;
  for (std::size_t turn = 0; turn < programs.size(); ++turn) {
    Program program = programs[turn];
    program.scenario = "";  // where it was read from, which is no part of what is run
    text += program_to_json(program);
  }
  return "program " + std::to_string(fnv1a(text)) + "\n--device " + options.device + "\n--transport " +
         machine.transport + "\n--warmup " + std::to_string(options.warmup) + "\n--iterations " +
         std::to_string(options.iterations) + "\n--apart " + (options.apart ? "on" : "off") + "\n--priority " +
         (machine.priority ? "on" : "off") + "\n--check-data " + (machine.check_data ? "on" : "off");
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

// Bytes of what a rank may have to tell in the end: one span of each operation in each kept iteration, and a line of
// facts. Nobody has to believe a longer one.
std::size_t longest_report(const IterationPrograms& programs, const ExecuteOptions& options) {
  const Program& program = programs.first();
  const std::size_t spans = program.ops.size() * static_cast<std::size_t>(options.iterations);
  constexpr std::size_t kNumber = 24;  // digits and blank
  return spans * sizeof(Span) + kNumber * static_cast<std::size_t>(program.world_size) + kShortText;
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

// The rendezvous weighs what the ranks say: a broken connection is not the cause when the rank behind it has died.
std::string settle_failure(Rendezvous& rendezvous, const Error& error, const std::string& doing) {
  rendezvous.fail(error.what(), doing);
  return rendezvous.failure().empty() ? error.what() : rendezvous.failure();
}

// Who stopped the run does not wait for what hangs, nor for an operation that takes seconds.
double hangs_after(const std::function<bool()>& stopped) {
  return stopped && stopped() ? kStoppedRunHangs : kFailedRunHangs;
}

constexpr double kSaving = 60;  // seconds to collect and write what was measured, on a slow disk

}  // namespace

RankRun::RankRun(const IterationPrograms& programs, Rendezvous& rendezvous, const ExecuteOptions& options)
    : rendezvous_(rendezvous), machine_(machine_named(options.device).make(programs, rendezvous, options.machine)) {
  rendezvous.on_failure([weak = std::weak_ptr<Machine>(machine_)](const std::string&) {
    if (const auto machine = weak.lock()) machine->stop();
  });
}

void RankRun::prepare() {
  rendezvous_.doing("preparing");
  machine_->prepare();
  measure_clock();
}

void RankRun::measure_clock() {
  const Rendezvous::ClockOffset offset = rendezvous_.clock_offset();
  clock_.measured(monotonic_seconds(), offset);
}

void RankRun::finish(int next, int count, bool observed) {
  if (observed && machine_->observing_costs()) {
    const double seconds = iterate(next, count, next + count);
    facts_["iteration without events around operations, ms"] = fmt::format("{:.4f}", seconds / count * 1e3);
  }
  measure_clock();
}

double RankRun::iterate(int first, int count, int first_kept) {
  rendezvous_.barrier("waiting for the start");
  const std::string start = rendezvous_.from_root(shortest(monotonic_seconds() + kStartDelay), "waiting for the start");
  rendezvous_.doing("the first operations");
  const std::jthread telling = ticker(rendezvous_, *machine_);
  const double here = std::stod(start) - clock_.offset_at(monotonic_seconds());
  machine_->run(first, count, first_kept, here);
  return monotonic_seconds() - here;
}

RankReport RankRun::report() {
  RankReport report;
  report.spans = machine_->take_spans();
  for (Span& span : report.spans) {
    const double offset_us = clock_.offset_at(span.start_us * 1e-6) * 1e6;
    span.start_us += offset_us;
    span.end_us += offset_us;
  }
  report.sent = machine_->sent();
  report.peak_bytes = machine_->bytes();
  report.host = host_name();
  report.facts = machine_->facts();
  Facts more = facts_of_text(report.facts.more);
  more.merge(Facts(facts_));
  report.facts.more = facts_text(more);
  report.clock_residual_us = clock_.residual() * 1e6 + machine_->clock_residual_us();
  report.facts.clock_drift_us = std::abs(clock_.drift()) * 1e6;
  return report;
}

Attempt::Attempt(Rendezvous& rendezvous, const ExecuteOptions& options)
    : rendezvous_(rendezvous), options_(options), watchdog_(std::make_shared<Watchdog>([this] { give_up(); })) {
  rendezvous_.on_failure([weak = std::weak_ptr<Watchdog>(watchdog_), stopped = options.stopped](const std::string&) {
    if (const auto watchdog = weak.lock()) watchdog->arm_first(hangs_after(stopped));
  });
}

Attempt::~Attempt() {
  watchdog_->stop();
}

void Attempt::save_by(std::function<void(RankRun&)> remains, std::function<void()> all) {
  save_remains_ = std::move(remains);
  save_all_ = std::move(all);
}

void Attempt::run(const IterationPrograms& programs, const std::function<void(RankRun&)>& body) {
  check_iteration_programs(programs);
  check_world(programs.first(), rendezvous_);
  try {
    follow(programs, body);
  } catch (const std::bad_alloc&) {
    fail(out_of_memory());
  } catch (const std::system_error& error) {
    fail(system_failure(error));
  } catch (const Error& error) {
    fail(error);
  }
}

void Attempt::follow(const IterationPrograms& programs, const std::function<void(RankRun&)>& body) {
  rendezvous_.allow(longest_report(programs, options_));
  check_terms(programs, rendezvous_, options_);
  run_ = std::make_unique<RankRun>(programs, rendezvous_, options_);
  run_->prepare();
  prepared_ = true;
  body(*run_);
  if (ending_.exchange(true)) watchdog_->stop();  // it saves what there is; until it has, the run stays
  finished_ = true;
  run_.reset();
}

void Attempt::fail(const Error& error) {
  const bool mine = !ending_.exchange(true);
  watchdog_->arm(kSaving);
  std::string why = settle_failure(rendezvous_, error, run_ ? run_->machine().doing() : "preparing");
  if (mine) {
    why += saved();
  } else {
    watchdog_->stop();
  }
  watchdog_->arm(hangs_after(options_.stopped));
  run_.reset();
  throw Error(error.failure(), {}, why, "");
}

// "" or what kept it from being saved: whatever that is, it is not why the run failed. Nothing was measured before all
// ranks were ready.
std::string Attempt::saved() {
  try {
    if (prepared_ && save_remains_) save_remains_(*run_);
  } catch (const std::exception& error) {
    return std::string("; and what was measured is lost: ") + error.what();
  }
  return {};
}

void Attempt::give_up() {
  std::string lost;
  if (!ending_.exchange(true)) {
    lost = saved();
  } else if (finished_ && save_all_) {
    save_all_();
  }
  if (options_.give_up) options_.give_up(rendezvous_.failure() + lost);
}

}  // namespace shardsim
