#include "validate/execute/meet/clock.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

namespace shardsim {

double monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
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

std::string link_target(const char* path) {
  std::array<char, 128> target;
  const ssize_t length = readlink(path, target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

// The lowest rank of each kernel other than rank 0's; a rank that does not know its kernel has one of its own.
std::vector<int> measuring_ranks(const std::vector<std::string>& identities) {
  std::vector<int> ranks;
  for (std::size_t rank = 1; rank < identities.size(); ++rank) {
    const auto first = std::ranges::find(identities, identities[rank]) - identities.begin();
    if (identities[rank].empty() || first == static_cast<std::ptrdiff_t>(rank)) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::string text_of(const Offset& offset) {
  return fmt::format("{} {}", offset.seconds, offset.residual);
}

Offset offset_of(const std::string& text) {
  Offset offset;
  const char* const end = text.data() + text.size();
  const char* const space = std::from_chars(text.data(), end, offset.seconds).ptr;
  if (space != end) std::from_chars(space + 1, end, offset.residual);
  return offset;
}

}  // namespace

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string clock_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? "" : boot + " " + link_target("/proc/self/ns/time");
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

Offset shared_offset(Rendezvous& rendezvous, const std::string& identity, const std::function<std::int64_t()>& ask) {
  const std::vector<std::string> identities = rendezvous.all_gather(identity, "clock offset");
  Offset own;
  for (const int rank : measuring_ranks(identities)) {
    if (rank == rendezvous.rank()) own = measured_offset(monotonic_ns, ask);
    rendezvous.barrier("clock offset");
  }
  const std::vector<std::string> offsets = rendezvous.all_gather(text_of(own), "clock offset");
  const bool known = !identity.empty();
  const auto first = known ? std::ranges::find(identities, identity) - identities.begin() : rendezvous.rank();
  return offset_of(offsets[static_cast<std::size_t>(first)]);
}

}  // namespace shardsim
