#include "base/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace shardsim {
namespace {

// All that a signal handler may look at. Atomic numbers without locks are safe there.
std::atomic<int> g_signal = 0, g_delays = 0;
std::atomic<bool> g_ends = false, g_on_terminal = false;
std::atomic<pid_t> g_process = 0;
std::atomic<const char*> g_line = "error: stopped; nothing was left half written.\n";
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<const char*>::is_always_lock_free);

void put(const char* text) {
  // Nothing can be done about a terminal that is gone.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

// Only what a signal handler may call. A forked worker ends without a word: the process that the user started speaks,
// and its workers die with it.
[[noreturn]] void end_now(int number) {
  if (::getpid() == g_process) {
    if (g_on_terminal) put("\r\x1b[K");  // over the line of progress
    put(g_line);
  }
  ::_exit(128 + number);
}

void on_signal(int number) {
  g_signal = number;
  if (g_ends && g_delays == 0) end_now(number);
}

}  // namespace

void on_stop_signals(OnStop what) {
  g_process = ::getpid();
  g_on_terminal = ::isatty(STDERR_FILENO) != 0;
  g_ends = what == OnStop::ends;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = what == OnStop::noted_then_kills ? static_cast<int>(SA_RESETHAND) : 0;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup's wish holds
  ::signal(SIGXFSZ, SIG_IGN);
}

void say_when_stopped(const char* line) {
  g_line = line;
}

int caught_signal() {
  return g_signal;
}

StopDelay::StopDelay() {
  ++g_delays;
}

StopDelay::~StopDelay() {
  if (--g_delays == 0 && g_ends && g_signal != 0) end_now(g_signal);
}

}  // namespace shardsim
