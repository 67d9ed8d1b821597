#include "cli/arguments/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::chrono::seconds kFirst{1};             // what is done sooner needs no line
constexpr std::chrono::milliseconds kLeastTime{100};  // between two pictures

// A line of the terminal that is too long would take two, of which only the last can be written over.
std::size_t columns_of_stderr() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79U;
}

std::string time_left_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// Draws from a thread of its own, too: the work that one waits for is done by the first one.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (is_copy()) {
      watch_.detach();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wakes_.notify_one();
    if (watch_.joinable()) watch_.join();
    put_away();
  }

  // What it tells, and since when; both are exchanged for what it told before.
  void exchange(std::string& what, std::string& shown, std::chrono::steady_clock::time_point& begin) {
    if (is_copy()) return;
    const std::lock_guard lock(mutex_);
    std::swap(what, what_);
    std::swap(shown, shown_text_);
    std::swap(begin, begin_);
    if (!what_.empty() && !watch_.joinable()) watch_ = std::thread([this] { draw_until_ended(); });
  }

  void show(const std::string& text) {
    if (is_copy()) return;
    const std::lock_guard lock(mutex_);
    shown_text_ = text;
    const auto time = std::chrono::steady_clock::now();
    if (time - begin_ >= kFirst && time - drawn_ >= kLeastTime) draw(time);
  }

  void put_away() {
    if (is_copy()) return;
    const std::lock_guard lock(mutex_);
    if (drawn_here_) put("\r\x1b[K");
    drawn_here_ = false;
  }

 private:
  // A forked worker has no such thread, and a copy of the lock that may be taken for ever.
  bool is_copy() const { return ::getpid() != process_; }

  static void put(const std::string& text) {
    // Nothing can be done about a terminal that is gone.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  void draw(std::chrono::steady_clock::time_point time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time - begin_).count();
    std::string text = !shown_text_.empty() ? shown_text_
                       : what_.empty()      ? ""
                                            : fmt::format("{}, {} s", what_, seconds);
    if (text.empty()) return;
    text = printable(text);
    text.resize(std::min(text.size(), columns_of_stderr()));
    put("\r\x1b[K" + text);
    drawn_ = time;
    drawn_here_ = true;
  }

  void draw_until_ended() {
    std::unique_lock lock(mutex_);
    while (!wakes_.wait_for(lock, kFirst, [&] { return ended_; }))
      if (const auto time = std::chrono::steady_clock::now(); time - begin_ >= kFirst && time - drawn_ >= kFirst)
        draw(time);
  }

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), drawn_{};
  std::string what_, shown_text_;
  bool ended_ = false, drawn_here_ = false;
  pid_t process_ = ::getpid();
  std::thread watch_;  // the last one: it uses the others
};

std::unique_ptr<ProgressLine> g_progress_line;

}  // namespace

Progress::Progress(const std::string& what, bool quiet)
    : told_(!quiet && ::isatty(STDERR_FILENO) != 0),
      outermost_(told_ && !g_progress_line),
      begin_(std::chrono::steady_clock::now()) {
  if (outermost_) g_progress_line = std::make_unique<ProgressLine>();
  what_before_ = what;
  begin_before_ = begin_;
  if (told_) g_progress_line->exchange(what_before_, shown_before_, begin_before_);
}

Progress::~Progress() {
  if (outermost_) {
    g_progress_line.reset();
  } else if (told_) {
    g_progress_line->put_away();
    g_progress_line->exchange(what_before_, shown_before_, begin_before_);
  }
}

void Progress::now(const std::string& what) {
  begin_ = std::chrono::steady_clock::now();
  counted_ = 0;
  if (!told_) return;
  std::string telling = what, nothing;
  auto begin = begin_;
  g_progress_line->put_away();
  g_progress_line->exchange(telling, nothing, begin);
}

void Progress::show(const std::string& text) {
  if (told_) g_progress_line->show(text);
}

void Progress::count(const std::string& of, std::int64_t done, std::int64_t total, const std::string& more) {
  if (!told_) return;
  if (done <= counted_) begin_ = std::chrono::steady_clock::now();  // of another round
  counted_ = done;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  show(fmt::format("{} of {} {}, {:.3g} a second, {} left{}", with_thousands(done), with_thousands(total), of, rate,
                   time_left_text(static_cast<double>(total - done) / rate), more));
}

void Progress::clear() {
  if (!told_) return;
  g_progress_line->show("");
  g_progress_line->put_away();
}

void put_progress_away() {
  if (g_progress_line) g_progress_line->put_away();
}

}  // namespace shardsim
