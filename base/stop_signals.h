#pragma once

namespace shardsim {

// What Ctrl-C (SIGINT), SIGTERM and a terminal that goes (SIGHUP) do to the process. This is the one piece of global
// state of the program: a signal handler can reach nothing else.
enum class OnStop {
  noted,             // nothing by themselves: caught_signal() is asked
  noted_then_kills,  // the same, and the second signal of a kind ends the process at once
  ends,              // they end the process at once, with 128 + N and a line on stderr, unless a StopDelay lives
};

// From here on; a file size limit becomes a write error like a full disk.
void on_stop_signals(OnStop what);

// What the process says when OnStop::ends ends it, from here on, where there is more to say than that nothing is half
// written: one line with its line end, which lives as long as the process.
void say_when_stopped(const char* line);

// The number of the signal that came last, or 0.
int caught_signal();

// While one lives, signals to stop are only noted, so that what is being written becomes whole and what was begun is
// ended in order. Where OnStop::ends holds and a signal came meanwhile, the process ends when the last one goes.
class StopDelay {
 public:
  StopDelay();
  ~StopDelay();
  StopDelay(const StopDelay&) = delete;
  StopDelay& operator=(const StopDelay&) = delete;
};

}  // namespace shardsim
