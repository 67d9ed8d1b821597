#pragma once

namespace shardsim {

// Seconds of CLOCK_MONOTONIC: the clock of every span that is observed.
double monotonic_seconds();

// Returns at that time, or at once when it has passed.
void sleep_until(double monotonic);

}  // namespace shardsim
