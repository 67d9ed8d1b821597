#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "study/sweep/crew.h"

namespace shardsim {
namespace {

constexpr int kLocalPollMs = 100;

bool write_bytes(int file, const void* bytes, std::size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t wrote = ::write(file, from, count);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    from += wrote;
    count -= static_cast<std::size_t>(wrote);
  }
  return true;
}

bool read_bytes(int file, void* bytes, std::size_t count) {
  char* to = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::read(file, to, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

// Points come in as four bytes each; an answer goes out as its length in four bytes and itself.
void serve_points(const PointTask& task, int in, int out) {
  for (std::uint32_t point = 0; read_bytes(in, &point, sizeof point);) {
    const std::string answer = task(point);
    const auto length = static_cast<std::uint32_t>(answer.size());
    if (!write_bytes(out, &length, sizeof length) || !write_bytes(out, answer.data(), answer.size())) return;
  }
}

class LocalMember {
 public:
  explicit LocalMember(const PointTask& task) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0) throw failure("cannot make a pipe");
    if (::pipe2(from, O_CLOEXEC) != 0) throw failure("cannot make a pipe");
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      ::close(to[1]);
      ::close(from[0]);
      child(task, to[0], from[1], parent);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
    if (process_ < 0) throw failure("cannot start a process");
  }
  ~LocalMember() {
    ::close(to_);
    ::close(from_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }
  LocalMember(const LocalMember&) = delete;
  LocalMember& operator=(const LocalMember&) = delete;

  int from() const { return from_; }
  void give(std::uint32_t point) { write_bytes(to_, &point, sizeof point); }  // one that is gone says so when read

  // Reads what is there; false when it has closed its end.
  bool read_some() {
    char buffer[1 << 16];
    const ssize_t got = ::read(from_, buffer, sizeof buffer);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    said_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  std::optional<std::string> answer() {
    std::uint32_t length = 0;
    if (said_.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, said_.data(), sizeof length);
    if (said_.size() < sizeof length + length) return std::nullopt;
    std::string bytes = said_.substr(sizeof length, length);
    said_.erase(0, sizeof length + length);
    return bytes;
  }

  // Returns how a process that has closed its end ended.
  std::string wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return WIFSIGNALED(status) ? std::string("killed by ") + strsignal(WTERMSIG(status)) : "it ended by itself";
  }

 private:
  static Error failure(const char* what) { return run_error(std::string(what) + ": " + std::strerror(errno), ""); }

  [[noreturn]] static void child(const PointTask& task, int in, int out, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);     // a killed parent cannot end it
    if (::getppid() != parent) ::_exit(1);  // it died before that took effect
    ::signal(SIGINT, SIG_IGN);              // the parent decides
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGPIPE, SIG_IGN);
    serve_points(task, in, out);
    ::_exit(0);
  }

  pid_t process_ = 0;
  int to_ = -1, from_ = -1;
  std::string said_;
};

class LocalCrew final : public Crew {
 public:
  LocalCrew(int members, PointTask task) : task_(std::move(task)) {
    pipes_ = ::signal(SIGPIPE, SIG_IGN);  // a member that is gone is noticed by its end of the pipe
    for (int i = 0; i < members; ++i) members_.push_back(std::make_unique<LocalMember>(task_));
  }
  ~LocalCrew() override {
    members_.clear();
    ::signal(SIGPIPE, pipes_);
  }
  LocalCrew(const LocalCrew&) = delete;
  LocalCrew& operator=(const LocalCrew&) = delete;

  int size() const override { return static_cast<int>(members_.size()); }
  void give(int member, std::uint32_t point) override { members_.at(static_cast<std::size_t>(member))->give(point); }

  std::optional<Answer> next() override {
    if (auto ready = whole_answer()) return ready;
    std::vector<pollfd> ends;
    for (const auto& member : members_) ends.push_back({member ? member->from() : -1, POLLIN, 0});
    if (::poll(ends.data(), ends.size(), kLocalPollMs) <= 0) return std::nullopt;
    std::optional<Answer> gone;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].revents == 0 || members_[i]->read_some()) continue;
      if (auto ready = whole_answer()) return ready;  // said before it ended; its end is seen again
      return Answer{static_cast<int>(i), true, end_of(i)};
    }
    return whole_answer();
  }

  bool replace(int member) override {
    members_.at(static_cast<std::size_t>(member)) = std::make_unique<LocalMember>(task_);
    return true;
  }

 private:
  std::optional<Answer> whole_answer() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i]) continue;
      if (auto bytes = members_[i]->answer()) return Answer{static_cast<int>(i), false, std::move(*bytes)};
    }
    return std::nullopt;
  }

  std::string end_of(std::size_t member) {
    const std::string how = members_[member]->wait();
    members_[member].reset();
    return how;
  }

  PointTask task_;
  std::vector<std::unique_ptr<LocalMember>> members_;  // none: it is gone
  void (*pipes_)(int) = nullptr;
};

}  // namespace

std::unique_ptr<Crew> make_local_crew(int members, PointTask task) {
  return std::make_unique<LocalCrew>(members, std::move(task));
}

}  // namespace shardsim
