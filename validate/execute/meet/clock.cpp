#include "validate/execute/meet/clock.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

namespace shardsim {

double monotonic_seconds() {
  return static_cast<double>(monotonic_ns()) * 1e-9;
}

double processor_seconds() {
  timespec taken{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &taken);
  return static_cast<double>(taken.tv_sec) + static_cast<double>(taken.tv_nsec) * 1e-9;
}

void sleep_until(double monotonic) {
  prctl(PR_SET_TIMERSLACK, 1);  // of this thread; the default adds 50 us
  timespec when{};
  when.tv_sec = static_cast<time_t>(std::floor(monotonic));
  when.tv_nsec = static_cast<long>((monotonic - std::floor(monotonic)) * 1e9);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) != 0) {
  }
}

namespace {

using Offset = Rendezvous::ClockOffset;

// The lowest rank of each kernel other than rank 0's; a rank that does not know its kernel has one of its own.
std::vector<int> measuring_ranks(const std::vector<std::string>& identities) {
  std::vector<int> ranks;
  for (std::size_t rank = 1; rank < identities.size(); ++rank) {
    const auto first = std::ranges::find(identities, identities[rank]) - identities.begin();
    if (identities[rank].empty() || first == static_cast<std::ptrdiff_t>(rank)) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string clock_identity() {
  std::string boot;
  std::error_code unknown;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? "" : boot + " " + std::filesystem::read_symlink("/proc/self/ns/time", unknown).string();
}

void ClockLine::measured(double at, const Offset& offset) {
  if (!any_) {
    from_ = at;
    first_ = offset;
  }
  any_ = true;
  to_ = at;
  last_ = offset;
}

double ClockLine::offset_at(double at) const {
  if (to_ <= from_) return last_.seconds;
  const double share = std::clamp((at - from_) / (to_ - from_), 0.0, 1.0);
  return first_.seconds + share * drift();
}

Offset measured_offset(const std::function<std::int64_t()>& now, const std::function<std::int64_t()>& ask,
                       int exchanges) {
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  double offset = 0;
  for (int i = 0; i < exchanges; ++i) {
    const std::int64_t before = now();
    const std::int64_t there = ask();
    const std::int64_t round_trip = now() - before;
    if (round_trip >= shortest) continue;
    shortest = round_trip;
    offset = static_cast<double>(there - before) - static_cast<double>(round_trip) / 2;
  }
  return {offset * 1e-9, static_cast<double>(shortest) / 2 * 1e-9};
}

// Per kernel one rank measures, one after the other; its neighbours take over what it found.
Offset Rendezvous::clock_offset() {
  const std::string identity = limits_.clock.empty() ? clock_identity() : limits_.clock;
  const std::vector<std::string> identities = all_gather(identity, "clock offset");
  Offset own;
  for (const int measuring : measuring_ranks(identities)) {
    if (measuring == rank()) own = measured_offset(monotonic_ns, [this] { return ask_root_clock(); });
    barrier("clock offset");
  }
  const auto offsets = all_gather(fmt::format("{} {}", own.seconds, own.residual), "clock offset");
  const auto first = identity.empty() ? rank() : std::ranges::find(identities, identity) - identities.begin();
  std::istringstream(offsets[static_cast<std::size_t>(first)]) >> own.seconds >> own.residual;
  return own;
}

}  // namespace shardsim
