#include "validate/execute/meet/monotonic.h"

#include <sys/prctl.h>
#include <time.h>

#include <cmath>

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

}  // namespace shardsim
