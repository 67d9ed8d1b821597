#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace shardsim {

// A spot in the user's input: a line of a file, or an argument of the command line. Lines and columns count from 1;
// 0 means not known.
struct Place {
  std::string source;  // a path as the user gave it, or "argument --set cluster.nodes"
  int line = 0;
  int column = 0;

  bool operator==(const Place&) const = default;
  std::string text() const;  // "FILE:LINE:COLUMN", or the source alone
};

// The kinds of failure; the values are the exit codes of the command (docs/formats/command_line.md).
enum class Failure {
  run = 1,         // the run itself failed (a write error, a worker died)
  input = 2,       // bad usage or bad input file
  infeasible = 3,  // the plan does not fit in memory
  tolerance = 4,   // a comparison is outside its tolerance
};

// The one exception type. `what()` reads "PLACE: what is wrong. What to do."
class Error : public std::runtime_error {
 public:
  Error(Failure failure, const Place& place, const std::string& wrong, const std::string& remedy);

  Failure failure() const { return failure_; }
  const Place& place() const { return place_; }

 private:
  Failure failure_;
  Place place_;
};

// Shorthands for the two most frequent kinds.
Error input_error(const Place& place, const std::string& wrong, const std::string& remedy);
Error run_error(const std::string& what_failed, const std::string& remedy);

// An Error for memory that the process did not get (std::bad_alloc), at the file that it was for where there is one.
// Failure::run; the caller throws it.
Error out_of_memory(const std::string& file = "");

// True when the address space of the process is limited (ulimit -v).
bool memory_is_limited();

// An Error for something that the system refused to a process, which says the cause and what to do: std::thread and
// sockets throw only a number. Failure::run; the caller throws it.
Error system_failure(const std::system_error& error);

// From here on, lack of memory ends the process with one line on stderr and exit code 1 also where nobody can catch
// std::bad_alloc: in a thread beside the main one, or in a destructor.
void end_where_memory_lacks_anywhere();

}  // namespace shardsim
