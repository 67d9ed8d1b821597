#include "cli/arguments/waiting.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/arguments/process.h"

namespace shardsim {
namespace {

// Draws the line from a thread of its own: the work that one waits for is done by the first one.
class WaitingLine {
 public:
  explicit WaitingLine(std::string what)
      : what_(std::move(what)), process_(::getpid()), thread_([this] { draw_until_ended(); }) {}

  ~WaitingLine() {
    if (::getpid() != process_) {
      thread_.detach();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wakes_.notify_one();
    thread_.join();
    put_away();
  }

  // Returns what it said before.
  std::string say_instead(std::string what) {
    const std::lock_guard lock(mutex_);
    begin_ = Clock::now();
    std::swap(what, what_);
    return what;
  }

  // A forked worker has no such thread, and a copy of the lock that may be taken for ever.
  void put_away() {
    if (::getpid() != process_) return;
    const std::lock_guard lock(mutex_);
    if (shown_) put("\r\x1b[K");
    shown_ = false;
  }

  // Another line of progress says more than this one.
  void rest() {
    if (::getpid() != process_) return;
    const std::lock_guard lock(mutex_);
    begin_ = Clock::now();
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static void put(const std::string& text) {
    // Nothing can be done about a terminal that is gone.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  void draw_until_ended() {
    std::unique_lock lock(mutex_);
    while (!wakes_.wait_for(lock, std::chrono::seconds(1), [&] { return ended_; })) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
      if (seconds < 1) continue;
      put("\r\x1b[K" + what_ + ", " + std::to_string(seconds) + " s");
      shown_ = true;
    }
  }

  std::mutex mutex_;
  std::condition_variable wakes_;
  Clock::time_point begin_ = Clock::now();
  std::string what_;
  bool ended_ = false, shown_ = false;
  pid_t process_;
  std::thread thread_;  // the last one: it uses the others
};

std::unique_ptr<WaitingLine> g_waiting_line;

}  // namespace

Waiting::Waiting(std::string what) {
  if (g_waiting_line) {
    before_ = g_waiting_line->say_instead(std::move(what));
    return;
  }
  if (::isatty(STDERR_FILENO) == 0) return;
  g_waiting_line = std::make_unique<WaitingLine>(std::move(what));
  before_output([](bool progress) {
    if (g_waiting_line) progress ? g_waiting_line->rest() : g_waiting_line->put_away();
  });
  outermost_ = true;
}

Waiting::~Waiting() {
  if (outermost_) {
    before_output({});
    g_waiting_line.reset();
  } else if (g_waiting_line) {
    g_waiting_line->say_instead(std::move(before_));
  }
}

}  // namespace shardsim
