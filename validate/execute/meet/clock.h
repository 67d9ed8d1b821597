#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "validate/execute/meet/rendezvous.h"

namespace shardsim {

// Seconds of CLOCK_MONOTONIC: the clock of every span that is observed.
double monotonic_seconds();

// Returns at that time, or at once when it has passed.
void sleep_until(double monotonic);

// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t monotonic_ns();

// Equal for processes that share CLOCK_MONOTONIC: the kernel's boot and the time name space. "" when not known.
std::string clock_identity();

// The offset of a remote clock, out of `exchanges` exchanges, from the one with the shortest round trip.
// now: the clock here; ask: the remote clock, somewhere between two calls of now. Both in nanoseconds.
Rendezvous::ClockOffset measured_offset(const std::function<std::int64_t()>& now,
                                        const std::function<std::int64_t()>& ask, int exchanges = 300);

}  // namespace shardsim
