#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace shardsim {

// An Error for memory that the process did not get (std::bad_alloc), at the file that it was for where there is one.
// Failure::run; the caller throws it.
inline Error out_of_memory(const std::string& file = "") {
  return {Failure::run, Place{file}, "out of memory",
          "Give the process more memory (ulimit -v), or use fewer ranks or a smaller case"};
}

// True when the address space of the process is limited (ulimit -v).
inline bool memory_is_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// An Error for something that the system refused to a process, which says the cause and what to do: std::thread and
// sockets throw only a number. Failure::run; the caller throws it.
inline Error system_failure(const std::system_error& error) {
  const std::string why = error.code().message();
  switch (error.code().value()) {
    case EAGAIN:  // also where there is no room for the stack of a thread
      return run_error("a thread cannot be started: " + why,
                       "Allow more threads (ulimit -u) or more memory (ulimit -v), or use fewer ranks and threads");
    case EMFILE:
    case ENFILE:
      return run_error("no file descriptor is left: " + why, "Allow more of them (ulimit -n), or use fewer ranks");
    case ENOMEM:
      return out_of_memory();
    default:
      return run_error("the system refused: " + why, "Look at the limits of the process (ulimit -a)");
  }
}

// From here on, lack of memory ends the process with one line on stderr and exit code 1 also where nobody can catch
// std::bad_alloc: in a thread beside the main one, or in a destructor.
void end_where_memory_lacks_anywhere();

}  // namespace shardsim
