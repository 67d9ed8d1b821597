#include "cli/stop_signals.h"

#include <signal.h>

namespace shardsim {
namespace {

// The one piece of global state: a signal handler can reach nothing else.
volatile sig_atomic_t g_signal = 0;

void on_signal(int number) {
  g_signal = number;
}

}  // namespace

void catch_signals(SecondSignal second) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = second == SecondSignal::kills ? static_cast<int>(SA_RESETHAND) : 0;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGXFSZ, SIG_IGN);
}

int caught_signal() {
  return g_signal;
}

}  // namespace shardsim
