#include "cli/arguments/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <sstream>
#include <system_error>

#include "base/document/document.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/arguments/progress.h"

namespace shardsim {
namespace {

bool wants_colour(bool is_terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return is_terminal && !(terminal != nullptr && std::strcmp(terminal, "dumb") == 0);
}

int columns(bool is_terminal) {
  winsize size{};
  if (!is_terminal) return kNoTerminal;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::max<int>(size.ws_col, 60);
}

// Streams that the caller closed: the next file opened would get their number, and what is printed would go into it.
// They are opened so that to read or write them fails as it should.
void open_missing_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) ::close(opened);  // a lower one is missing, too: it could not be opened
  }
}

// Readers of nested files recurse, and the kernel ends a process whose stack is full without a word. A limit that may
// be raised is raised: it holds at once, for the stack grows as it is needed.
void require_stack() {
  constexpr rlim_t kLeast = 128 << 10, kUsual = 8 << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast) return;
  limit.rlim_cur = std::min(limit.rlim_max, kUsual);
  if (limit.rlim_cur >= kLeast && ::setrlimit(RLIMIT_STACK, &limit) == 0) return;
  throw run_error(fmt::format("the stack may have only {} KiB", limit.rlim_max >> 10),
                  fmt::format("Allow {} KiB or more (ulimit -s)", kLeast >> 10));
}

int caught(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    return report_error(static_cast<int>(error.failure()), error.what());
  } catch (const std::bad_alloc&) {
    return report_error(1, out_of_memory().what());
  } catch (const std::filesystem::filesystem_error& error) {
    return report_error(1, "'" + error.path1().string() + "': " + error.code().message() +
                               ". Look at the folder and its links, or name another file.");
  } catch (const std::system_error& error) {
    return report_error(1, system_failure(error).what());
  } catch (const std::exception& error) {
    return report_error(1, std::string("internal error: ") + error.what() + ". Please report it with the input.");
  }
}

}  // namespace

void say(const std::string& line) {
  put_progress_away();
  std::fflush(stdout);
  std::fputs((printable(line) + "\n").c_str(), stderr);
}

void print_result(const std::string& text) {
  put_progress_away();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_lines(const std::string& lines) {
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) print_result(printable(line) + "\n");
}

int report_error(int code, const std::string& message) {
  say("error: " + message);
  return code;
}

int guarded(const std::function<int()>& body) {
  open_missing_streams();
  end_where_memory_lacks_anywhere();
  const int code = caught([&] {
    require_stack();
    return body();
  });
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!lost || code != 0) return code;
  return report_error(1, "standard output: cannot write it. Is the disk full, or the reader gone?");
}

Terminal look_at_terminal() {
  Terminal terminal;
  const bool stdout_is_terminal = isatty(STDOUT_FILENO) != 0;
  terminal.stderr_is_terminal = isatty(STDERR_FILENO) != 0;
  terminal.colour = wants_colour(stdout_is_terminal);
  terminal.width = columns(stdout_is_terminal);
  terminal.interrupted = [] { return caught_signal() != 0; };
  return terminal;
}

}  // namespace shardsim
