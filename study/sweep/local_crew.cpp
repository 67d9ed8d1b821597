#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/child_process.h"
#include "study/sweep/crew.h"

namespace shardsim {
namespace {

constexpr int kLocalPollMs = 100;

std::string_view bytes_of(const std::uint32_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// Points come in as four bytes each; an answer goes out as its length in four bytes and itself.
void serve_points(const PointTask& task, int in, int out) {
  for (std::uint32_t point = 0; read_whole(in, &point, sizeof point);) {
    const std::string answer = task(point);
    const auto length = static_cast<std::uint32_t>(answer.size());
    if (!write_whole(out, bytes_of(length)) || !write_whole(out, answer)) return;
  }
}

class LocalMember {
 public:
  explicit LocalMember(const PointTask& task)
      : process_([&] { return live(task); }, ChildProcess::Interrupts::ignored) {
    to_.close_read_end();
    from_.close_write_end();
  }

  int from() const { return from_.read_end(); }
  // One that is gone says so when it is read.
  void give(std::uint32_t point) { write_whole(to_.write_end(), bytes_of(point)); }

  // Reads what is there; false when it has closed its end.
  bool read_some() {
    char buffer[1 << 16];
    const ssize_t got = ::read(from(), buffer, sizeof buffer);
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
    const int status = process_.wait();
    return WIFSIGNALED(status) ? std::string("killed by ") + strsignal(WTERMSIG(status)) : "it ended by itself";
  }

 private:
  // In the child.
  int live(const PointTask& task) {
    to_.close_write_end();
    from_.close_read_end();
    ::signal(SIGPIPE, SIG_IGN);
    serve_points(task, to_.read_end(), from_.write_end());
    return 0;
  }

  Pipe to_, from_;
  ChildProcess process_;
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
