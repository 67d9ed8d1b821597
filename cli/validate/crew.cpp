#include "cli/validate/crew.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "base/at_end.h"
#include "base/system_failure.h"
#include "base/text.h"
#include "cli/arguments/process.h"
#include "cli/validate/kept_measurement.h"
#include "validate/execute/kernels/parallel.h"
#include "validate/execute/run/execute.h"

namespace shardsim {
namespace {

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
