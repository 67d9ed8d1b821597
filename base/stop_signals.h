#pragma once

namespace shardsim {

// The effect of Ctrl-C (SIGINT), SIGTERM and a closed terminal (SIGHUP) on the process. This is the one piece of global
// state of the program: a signal handler can reach nothing else.
enum class OnStop {
  noted,             // nothing by themselves: caught_signal() is asked
  noted_then_kills,  // the same, and the second signal of a kind ends the process at once
  ends,              // they end the process at once, with 128 + N and a line on stderr, unless a StopDelay lives
};

// From here on; a file size limit becomes a write error like a full disk.
void on_stop_signals(OnStop what);

// From here on, the line that the process prints when OnStop::ends ends it, in place of the usual one that says that no
// file is half-written. The text includes the line end, and must live as long as the process.
void say_when_stopped(const char* line);

// The number of the signal that came last, or 0.
int caught_signal();

// While one lives, signals to stop are only noted, so that what is being written becomes whole and what was begun is
// ended in order. If OnStop::ends is set and a signal came meanwhile, the process ends when the last StopDelay is
// destroyed.
class StopDelay {
 public:
  StopDelay();
  ~StopDelay();
  StopDelay(const StopDelay&) = delete;
  StopDelay& operator=(const StopDelay&) = delete;
};

}  // namespace shardsim
