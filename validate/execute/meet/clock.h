#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// Seconds of CLOCK_MONOTONIC: the clock of every span that is observed.
double monotonic_seconds();

// Seconds of processor time that all threads of this process have taken.
double processor_seconds();

// Returns at that time, or at once when it has passed.
void sleep_until(double monotonic);

// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t monotonic_ns();

// Equal for processes that share CLOCK_MONOTONIC: the kernel's boot and the time namespace. "" when not known.
std::string clock_identity();

// The offset of a clock that was measured at two times: in a straight line between them, and as measured outside.
class ClockLine {
 public:
  // `at`: seconds of the clock here.
  void measured(double at, const Rendezvous::ClockOffset& offset);
  double offset_at(double at) const;  // seconds, as ClockOffset::seconds; 0 before the first measurement
  double residual() const { return std::max(first_.residual, last_.residual); }  // seconds: the worse of both ends
  double drift() const { return last_.seconds - first_.seconds; }

 private:
  bool any_ = false;
  double from_ = 0, to_ = 0;
  Rendezvous::ClockOffset first_, last_;
};

// The offset of a remote clock, out of `exchanges` exchanges, from the one with the shortest round trip.
// now: the clock here; ask: the remote clock, somewhere between two calls of now. Both in nanoseconds.
Rendezvous::ClockOffset measured_offset(const std::function<std::int64_t()>& now,
                                        const std::function<std::int64_t()>& ask, int exchanges = 300);

}  // namespace shardsim
