#pragma once

#include <stdexcept>
#include <string>

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

}  // namespace shardsim
