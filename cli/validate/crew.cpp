#include "cli/validate/crew.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "base/at_end.h"
#include "base/error.h"
#include "base/result_folder.h"
#include "base/text.h"
#include "cli/arguments/process.h"
#include "cli/file_kinds.h"
#include "cli/validate/request.h"
#include "program/timeline/kineto/kineto.h"
#include "program/timeline/named_times.h"
#include "validate/execute/kernels/parallel.h"
#include "validate/execute/run/execute.h"

namespace shardsim {
namespace {

// Saves the measurements of the ranks of this process, and says where they are. Any thread may call. The source and the
// request must outlive it.
class KeptMeasurement {
 public:
  // `has_root`: rank 0 is in this process.
  KeptMeasurement(const ValidateSource& source, const ValidateRequest& request, bool has_root)
      : source_(source), request_(request), has_root_(has_root) {}

  // Writes what rank `rank` has, and its traces, where they were asked for (ResultPath::of); a timeline that cannot be
  // written there goes into a new folder of this machine's own that has room. A run that ends in its warm-up has
  // measured nothing, and nothing is written. Errors (Failure::run): a complete timeline could not be written where it
  // was asked for, and the message says where it is kept, or that it is lost; there is no room for an incomplete one;
  // the traces cannot be written.
  void save(const Timeline& timeline, int rank);

  // The line that ends a run after a signal. `why`: what the run failed with, which may say that all is lost.
  std::string stopped(const std::string& why) const;

 private:
  void keep_elsewhere(const Timeline& timeline, const std::string& path, const Error& error);
  void saved(const std::string& path, bool complete);

  const ValidateSource& source_;
  const ValidateRequest& request_;
  const bool has_root_;
  mutable std::mutex mutex_;
  std::string written_;  // the file that has what was measured; "" before there is one
  bool complete_ = false;
};

// A file of that name in a new folder of this machine's own that has room for it; "" where there is none.
std::string saved_elsewhere(const std::string& path, const ValidateSource& source, const Timeline& timeline) {
  std::error_code ignored;
  for (const std::filesystem::path& root : {std::filesystem::temp_directory_path(ignored), {"/dev/shm"}}) {
    std::string folder = (root / "shardsim-kept-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) continue;
    const std::filesystem::path file = folder / std::filesystem::path(path).filename();
    try {
      save_timeline(file, source, timeline);
      return file.string();
    } catch (const Error&) {
      std::filesystem::remove(folder, ignored);
    }
  }
  return "";
}

void KeptMeasurement::save(const Timeline& timeline, int rank) {
  if (!timeline.complete && timeline.spans.empty()) return;
  const std::string path = request_.output.of(rank, timeline.complete);
  try {
    write_result(path, request_.writer,
                 [&](const std::filesystem::path& hidden) { save_timeline(hidden, source_, timeline); });
  } catch (const Error& error) {
    return keep_elsewhere(timeline, path, error);
  }
  saved(path, timeline.complete);
  if (rank == 0 && path != request_.output.path && caught_signal() == 0)
    say(fmt::format("note: what was measured so far is in {}, marked as incomplete; {} is as it was", path,
                    request_.output.path));
  if (request_.trace.path.empty()) return;
  add_to_folder(request_.trace.of(rank, timeline.complete), request_.writer, [&](const std::filesystem::path& hidden) {
    write_kineto_traces(hidden, timeline, source_.program.case_name, false);
  });
}

// After `error`, for which it could not be written to `path`.
void KeptMeasurement::keep_elsewhere(const Timeline& timeline, const std::string& path, const Error& error) {
  const std::string kept = saved_elsewhere(path, source_, timeline);
  if (kept.empty() && !timeline.complete) throw error;
  if (kept.empty())
    throw Error(error.failure(), {}, error.what(), "There is no room elsewhere either, and what was measured is lost");
  saved(kept, timeline.complete);
  const std::string where = fmt::format("What was measured is kept in {}: move it to where there is room", kept);
  if (timeline.complete) throw Error(error.failure(), {}, error.what(), where);
  say(fmt::format("note: {} {}.", error.what(), where));
}

void KeptMeasurement::saved(const std::string& path, bool complete) {
  const std::lock_guard lock(mutex_);
  written_ = path;
  complete_ = complete;
}

std::string KeptMeasurement::stopped(const std::string& why) const {
  const std::lock_guard lock(mutex_);
  if (request_.check_iterations > 0) return "stopped; the data was not compared to the end.";
  const std::size_t lost = why.find("what was measured is lost");
  if (lost != std::string::npos) return "stopped, and " + why.substr(lost);
  if (complete_) return fmt::format("stopped; all was measured, and is in {}.", written_);
  if (!written_.empty())
    return fmt::format("stopped; what was measured so far is in {}, marked as incomplete{}.", written_,
                       request_.output.stays ? "; " + request_.output.path + " is as it was" : "");
  return has_root_ ? "stopped; nothing was measured, and no file was written."
                   : "stopped; what was measured so far is with rank 0.";
}

// Prints a complete measurement: the iteration, each operation's time, and the file that has it.
void print_measured(const Timeline& timeline, const std::string& path) {
  print_lines(
      fmt::format("{} ranks, {}, {}\n", timeline.world_size, timeline.measured.device, timeline.measured.transport));
  fmt::print("iteration: {:.3f} ms, median of {}\n\n", timeline.iteration_ms, timeline.iterations_run);
  fmt::print("{:<28} {:<14} {:>5} {:>12} {:>12}\n", "operation", "class", "calls", "time ms", "exposed ms");
  for (const NamedTime& time : named_times(timeline)) {
    fmt::print("{:<28} {:<14} {:>5} {:>12.3f} {:>12.3f}\n", printable(time.name), time.op_class, time.calls,
               time.span_ms, time.exposed_ms);
  }
  print_lines(fmt::format("\nwrote {}\n", path));
}

// Fails the run when this process is told to stop, so that what was measured reaches the disk.
std::jthread stop_watch(Rendezvous& rendezvous) {
  return std::jthread([&rendezvous](const std::stop_token& over) {
    while (!over.stop_requested() && caught_signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!over.stop_requested())
      rendezvous.fail(caught_signal() == SIGINT ? "stopped by Ctrl-C" : "stopped", "its work");
  });
}

// Said once, when the run is over: a stranger who knocks is no fault of the run, but the user may want to know.
void tell_of_strangers(const Rendezvous& rendezvous) {
  if (rendezvous.strangers() == 0) return;
  say(fmt::format("note: rank {} turned away {} whose other end did not know the secret of this run", rendezvous.rank(),
                  counted(static_cast<std::size_t>(rendezvous.strangers()), "connection")));
}

// Tells the other ranks an error outside the run itself as the cause of their end; without that this rank would just
// die.
[[noreturn]] void fail_all(Rendezvous& rendezvous, const Error& error) {
  rendezvous.fail(error.what(), "");
  throw run_error(rendezvous.failure(), "");
}

// The ranks of this process, each in a thread. Where one of them hangs, or fails before all have met, the process ends:
// once, and not before the others, which may be writing, are through.
class Crew {
 public:
  Crew(const std::vector<Launch>& ranks, const ValidateSource& source, const ValidateRequest& request)
      : ranks_(ranks),
        source_(source),
        request_(request),
        kept_(source_, request_, ranks.front().rank == 0),
        left_(static_cast<int>(ranks.size())) {
    request_.options.give_up = [this](const std::string& why) { give_up(why); };
  }

  // Errors: of the lowest rank that failed.
  void run() {
    run_parts(
        static_cast<int>(ranks_.size()),
        [this](int local) {
          const AtEnd ended{[this] { one_ended(); }};
          run_rank(ranks_[static_cast<std::size_t>(local)]);
        },
        [this](const Error& error) { end(1, error.what()); });
  }

  std::string stopped(const std::string& why) const { return kept_.stopped(why); }

 private:
  static constexpr std::chrono::seconds kSaving{60};  // for the other ranks of this process

  void run_rank(const Launch& launch) {
    const auto rendezvous = join(launch);
    // From here on there is something to lose: the first signal ends the run in order.
    std::call_once(begun_, [] { on_stop_signals(OnStop::noted_then_kills); });
    try {
      const std::jthread watch = stop_watch(*rendezvous);
      if (request_.check_iterations > 0) return check(*rendezvous);
      measure(*rendezvous);
    } catch (const std::bad_alloc&) {
      fail_all(*rendezvous, out_of_memory());
    } catch (const std::system_error& error) {
      fail_all(*rendezvous, system_failure(error));
    }
  }

  // Nothing is lost by ending the process before the ranks have met, and those that wait for this one would wait for
  // the whole limit. Where ranks of other processes are told why by this one's own error, it leaves as it is; but
  // whoever reached rank 0 has its answer by now, and whoever did not would only wait for it.
  std::unique_ptr<Rendezvous> join(const Launch& launch) {
    try {
      return Rendezvous::join(launch, request_.join_limit);
    } catch (const Error& error) {
      if (!launch.launcher.empty() && launch.rank > 0) throw;
      end(static_cast<int>(error.failure()), error.what());
    } catch (const std::bad_alloc&) {
      end(1, out_of_memory().what());
    } catch (const std::system_error& error) {
      end(1, system_failure(error).what());
    }
  }

  static bool codecs_round(const Program& program) {
    return std::ranges::any_of(program.ops, [](const Op& op) { return op.role == OpRole::encode_output; });
  }

  void check(Rendezvous& rendezvous) const {
    const int iterations = request_.check_iterations;
    const std::string difference = check_data(source_.program, rendezvous, request_.options, iterations);
    leave(rendezvous);
    if (!difference.empty())
      throw run_error("the data of the ranks differs from that of a single process: " + difference,
                      "The executor or its kernels are wrong");
    if (rendezvous.rank() == 0)
      fmt::print("data equals a single process {} after {} iterations\n",
                 codecs_round(source_.program) ? "within the rounding of its codecs" : "bit for bit", iterations);
  }

  void measure(Rendezvous& rendezvous) {
    const int rank = rendezvous.rank();
    const auto save = [&](const Timeline& timeline) { kept_.save(timeline, rank); };
    const Timeline timeline = execute(source_.program, rendezvous, request_.options, save);
    if (rank == 0) save_for_all(timeline, rendezvous);
    rendezvous.barrier("waiting for rank 0 to write the file");
    leave(rendezvous);
    if (rank == 0) print_measured(timeline, request_.output.path);
  }

  // The run is over for all when the file is written, and failed for all when it is not.
  void save_for_all(const Timeline& timeline, Rendezvous& rendezvous) {
    try {
      kept_.save(timeline, rendezvous.rank());
    } catch (const Error& error) {
      rendezvous.fail(error.what(), "writing the file");
      throw;
    }
  }

  static void leave(Rendezvous& rendezvous) {
    rendezvous.leave();
    tell_of_strangers(rendezvous);
  }

  void one_ended() {
    const std::lock_guard lock(mutex_);
    --left_;
    changed_.notify_all();
  }

  // For ExecuteOptions::give_up: this rank's thread does not come back.
  [[noreturn]] void give_up(const std::string& why) {
    one_ended();
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kSaving, [this] { return left_ <= 0; });
    }
    end(caught_signal() == 0 ? 1 : 128 + caught_signal(), caught_signal() == 0 ? why + "." : stopped(why));
  }

  // Ends the process with that line; only the first one that comes speaks.
  [[noreturn]] void end(int code, const std::string& message) {
    while (told_.exchange(true)) std::this_thread::sleep_for(kSaving);
    std::_Exit(report_error(code, message));
  }

  const std::vector<Launch>& ranks_;
  const ValidateSource& source_;
  ValidateRequest request_;
  KeptMeasurement kept_;
  std::once_flag begun_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_;  // ranks that have not ended
  std::atomic<bool> told_ = false;
};

}  // namespace

int run_crew(const std::vector<Launch>& ranks, const ValidateSource& source, const ValidateRequest& request) {
  Crew crew(ranks, source, request);
  try {
    crew.run();
  } catch (const Error& error) {
    if (caught_signal() == 0) throw;
    return report_error(128 + caught_signal(), crew.stopped(error.what()));
  }
  return 0;
}

}  // namespace shardsim
