#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim {

// A forked process that does one thing for this one and ends. It dies with this process, however that dies, and it is
// killed and reaped with its owner.
class ChildProcess {
 public:
  enum class Interrupts {
    ignored,  // Ctrl-C reaches it, too, but this process decides
    end_it
  };
  // `body` runs in the child, which ends with the code that it returns: no destructors of this process's objects run
  // there, and no buffers of its streams are written twice. An exception that leaves `body` ends the child.
  // Errors: Failure::run when no process can be started.
  ChildProcess(const std::function<int()>& body, Interrupts interrupts);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  // How it ended, as waitpid(2) says it; nothing while it runs, and afterwards: it is told once.
  std::optional<int> ended();
  int wait();                     // until it ends; once
  void signal(int number) const;  // does nothing when it is over

 private:
  void kill_and_reap();

  pid_t process_ = 0;
};

// Writes or reads all these bytes of a pipe or socket; false when the other end is gone.
bool write_whole(int file, std::string_view bytes);
bool read_whole(int file, void* to, std::size_t bytes);

// Both ends of a pipe, which programs that this process starts do not inherit.
class Pipe {
 public:
  Pipe();  // errors: Failure::run
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read_end() { close_end(0); }
  void close_write_end() { close_end(1); }

 private:
  void close_end(int end);

  int ends_[2] = {-1, -1};
};

}  // namespace shardsim
