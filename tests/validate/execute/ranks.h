#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "validate/execute/meet/rendezvous.h"
#include "validate/execute/meet/tcp.h"

namespace shardsim::test {

// A TCP port that nobody uses, below those that the kernel hands out by itself.
inline int free_port() {
  std::random_device random;
  for (int tries = 0; tries < 1000; ++tries) {
    const int port = 20000 + static_cast<int>(random() % 12000);
    try {
      listen_on({"0.0.0.0", port});
      return port;
    } catch (const std::system_error&) {  // taken: another one
    }
  }
  throw run_error("no free port", "");
}

inline Launch launch_of(int rank, int world_size, int port) {
  Launch launch;
  launch.rank = launch.local_rank = rank;
  launch.world_size = launch.local_size = world_size;
  launch.master_port = port;
  return launch;
}

// Runs `body` for each of `ranks` on a thread of its own; the message of what it threw, or "", by position.
inline std::vector<std::string> on_threads(const std::vector<int>& ranks, const std::function<void(int rank)>& body) {
  std::vector<std::string> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        body(ranks[i]);
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

// Lets all ranks of a world meet, run `body` and leave. Returns the messages that they threw, by rank.
inline std::vector<std::string> in_world(int world_size, const std::function<void(Rendezvous&)>& body) {
  const int port = free_port();
  std::vector<int> ranks;
  for (int rank = 0; rank < world_size; ++rank) ranks.push_back(rank);
  return on_threads(ranks, [&](int rank) {
    const std::unique_ptr<Rendezvous> rendezvous = Rendezvous::join(launch_of(rank, world_size, port), 30);
    body(*rendezvous);
    rendezvous->leave();
  });
}

// A process that runs `body` and ends without destructors. To be made while there is one thread. Killed and reaped at
// the latest with this.
class Process {
 public:
  explicit Process(const std::function<void()>& body) : id_(fork()) {
    if (id_ != 0) return;
    try {
      body();
    } catch (...) {  // its test sees what the others make of it
    }
    _exit(0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    ::kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }

 private:
  pid_t id_;
};

}  // namespace shardsim::test
