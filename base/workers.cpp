#include "base/workers.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/read_files.h"

namespace shardsim {
namespace {

constexpr int kPollMilliseconds = 100;  // how soon an interrupt is noticed
constexpr int kPipeBytes = 1 << 20;

std::string_view bytes_of(const std::size_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// First how many bytes there are, so that the parent makes room for them once. Behind the result stands what was read,
// and of how many bytes that is: a file that a worker has read is an input of the command.
void send(int to, const std::string& bytes) {
  const std::string reads = packed_reads();
  const std::size_t size = bytes.size() + reads.size() + sizeof size, of_reads = reads.size();
  for (const std::string_view part :
       {bytes_of(size), std::string_view(bytes), std::string_view(reads), bytes_of(of_reads)})
    if (!write_whole(to, part)) return;  // the parent is gone
}

// Sends the result, or the text of an Error; returns the exit code that says which: 0, or the Failure.
int work_and_tell(const WorkerTask& task, int to) {
  try {
    send(to, task.run());
    return 0;
  } catch (const Error& error) {
    send(to, error.what());
    return static_cast<int>(error.failure());
  } catch (const std::bad_alloc&) {
    send(to, task.name + ": " + out_of_memory().what());
    return static_cast<int>(Failure::run);
  } catch (const std::exception& error) {
    send(to, task.name + ": " + error.what());
    return static_cast<int>(Failure::run);
  }
}

// One process under way and what it has sent so far. Destroyed early, the process is killed.
class Worker {
 public:
  Worker(std::size_t task, const WorkerTask& work)
      : task_(task), process_([&] { return live(work); }, ChildProcess::Interrupts::ignored) {
    pipe_.close_write_end();
  }

  std::size_t task() const { return task_; }
  int from() const { return pipe_.read_end(); }

  // Reads what is there; true when the worker has closed its end.
  bool read_some() {
    if (size_read_ < sizeof size_) return ended(::read(from(), size_bytes() + size_read_, sizeof size_ - size_read_));
    if (sent_.empty()) sent_.resize(size_);
    char beyond = 0;  // nothing is due there but the end
    const bool whole = read_ == sent_.size();
    return ended(::read(from(), whole ? &beyond : sent_.data() + read_, whole ? 1 : sent_.size() - read_));
  }

  // The result; throws what the worker threw, or that it died.
  std::string finish(const std::string& name) {
    const int status = process_.wait();
    sent_.resize(read_);
    take_reads();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(sent_);
    if (WIFEXITED(status) && !sent_.empty()) throw Error(static_cast<Failure>(WEXITSTATUS(status)), Place{}, sent_, "");
    throw WorkerDied(name, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }

 private:
  // Nothing where the worker died before it had sent all.
  void take_reads() {
    std::size_t of_reads = 0;
    if (read_ < sizeof of_reads || read_ < size_) return;
    std::memcpy(&of_reads, sent_.data() + read_ - sizeof of_reads, sizeof of_reads);
    const std::size_t result = read_ - sizeof of_reads - of_reads;
    note_packed_reads(std::string_view(sent_).substr(result, of_reads));
    sent_.resize(result);
  }

  char* size_bytes() { return reinterpret_cast<char*>(&size_); }

  // Counts the bytes that read(2) returned; true when there will be no more.
  bool ended(ssize_t got) {
    if (got < 0) return errno != EINTR && errno != EAGAIN;
    (size_read_ < sizeof size_ ? size_read_ : read_) += static_cast<std::size_t>(got);
    return got == 0;
  }

  // In the child.
  int live(const WorkerTask& work) const {
    ::fcntl(pipe_.write_end(), F_SETPIPE_SZ, kPipeBytes);  // fewer turns where results are long; without it, more
    keep_freed_memory();
    return work_and_tell(work, pipe_.write_end());
  }

  std::size_t task_;
  Pipe pipe_;
  ChildProcess process_;
  std::size_t size_ = 0, size_read_ = 0;  // bytes that it sends, once all bytes of this number have come
  std::string sent_;
  std::size_t read_ = 0;  // bytes of it that have come
};

class Pool {
 public:
  Pool(const std::vector<WorkerTask>& tasks, const WorkerOptions& options)
      : tasks_(tasks), options_(options), results_(tasks.size()), waiting_(tasks.size()) {
    std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
    std::ranges::sort(waiting_, [&](std::size_t a, std::size_t b) {
      return std::pair(tasks[a].weight, b) < std::pair(tasks[b].weight, a);  // of equal ones the first begins first
    });
  }

  std::vector<std::string> run() {
    begin();
    while (!workers_.empty()) {
      throw_if_interrupted(options_.interrupted);
      const std::vector<std::unique_ptr<Worker>> ended = collect();
      std::vector<std::size_t> good;
      for (const auto& worker : ended) {
        if (settle(*worker)) good.push_back(worker->task());
      }
      begin();  // before results are taken: nobody waits for that
      for (const std::size_t task : good) take(task);
    }
    throw_if_interrupted(options_.interrupted);  // a signal to the whole group ends the workers, too
    if (failure_) std::rethrow_exception(failure_);
    return std::move(results_);
  }

 private:
  // Starts as many as may run. After a failure no later task matters.
  void begin() {
    std::erase_if(waiting_, [this](std::size_t task) { return task > failed_; });
    for (; !waiting_.empty() && static_cast<int>(workers_.size()) < options_.jobs; waiting_.pop_back()) {
      workers_.push_back(std::make_unique<Worker>(waiting_.back(), tasks_[waiting_.back()]));
    }
  }

  // Reads what is there; returns the workers that have nothing more to say.
  std::vector<std::unique_ptr<Worker>> collect() {
    std::vector<std::unique_ptr<Worker>> ended;
    std::vector<pollfd> ends;
    for (const auto& worker : workers_) ends.push_back({worker->from(), POLLIN, 0});
    if (::poll(ends.data(), ends.size(), kPollMilliseconds) <= 0) return ended;
    for (std::size_t index = ends.size(); index-- > 0;) {
      if (ends[index].revents == 0 || !workers_[index]->read_some()) continue;
      ended.push_back(std::move(workers_[index]));
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    return ended;
  }

  // Takes the result or the error of a worker's task; returns true when there is a result.
  bool settle(Worker& worker) {
    const WorkerTask& task = tasks_[worker.task()];
    bool good = false;
    try {
      results_[worker.task()] = worker.finish(task.name);
      good = true;
    } catch (const Error& error) {
      if (task.failed) {
        task.failed(error);
      } else {
        keep_first(worker.task(), std::current_exception());
      }
    }
    ++done_;
    if (options_.progress) options_.progress(done_, static_cast<int>(tasks_.size()));
    return good;
  }

  void keep_first(std::size_t task, std::exception_ptr failure) {
    if (task > failed_) return;
    failed_ = task;
    failure_ = std::move(failure);
    std::erase_if(workers_, [this](const auto& worker) { return worker->task() > failed_; });
  }

  void take(std::size_t task) {
    if (failure_ || !tasks_[task].taken) return;
    tasks_[task].taken(results_[task]);
    results_[task] = {};
  }

  const std::vector<WorkerTask>& tasks_;
  const WorkerOptions& options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::string> results_;
  std::vector<std::size_t> waiting_;  // tasks that have not begun, the next one last
  int done_ = 0;
  std::size_t failed_ = std::numeric_limits<std::size_t>::max();  // the first task that failed so far, and how
  std::exception_ptr failure_;
};

}  // namespace

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
}

WorkerDied::WorkerDied(const std::string& name, int how)
    : Error(run_error("the worker of case '" + name + "' died (" +
                          (how == 0 ? "it gave no result" : std::string("killed by ") + strsignal(how)) + ")",
                      "Run it with more memory, or report it")),
      signal(how) {}

int processors() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void throw_if_interrupted(const std::function<bool()>& interrupted) {
  if (interrupted && interrupted()) throw Interrupted{};
}

std::vector<std::string> run_in_workers(const std::vector<WorkerTask>& tasks, const WorkerOptions& options) {
  return Pool(tasks, options).run();
}

}  // namespace shardsim
