#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// What blanks separate.
std::vector<std::string> words_in(std::string_view line);

// A command that runs a program of nccl-tests, as in "$ mpirun -np 16 ./build/all_reduce_perf -b 8".
struct NcclCommand {
  std::string program;               // its name
  bool is_launched = false;          // by mpirun, srun or the like, as several processes
  std::vector<std::string> options;  // the words behind the program
};

// The command of a line. Nothing where the line only names a program, as lists of files and messages of compilers do.
std::optional<NcclCommand> command_in(std::string_view line);

// True when the line is a command of a launcher, or a part of one that goes on behind it: what it sets holds for one
// run.
bool is_launch(std::string_view line);

// A line of a job's output without what the launcher wrote before it: `mpirun --tag-output` ("[1,0]<stdout>:"),
// `srun -l` and `pdsh` ("12: ", "node7: "), Hydra and torchrun ("[0] ", "[default0]:"), `kubectl logs --prefix`
// ("[pod/worker-0/main] "), `docker compose` ("main-1  | "), and a time of day in the form of RFC 3339. Labels may
// stand one behind the other.
std::string_view without_label(std::string_view line);

// Takes labels off the lines of one log. Those above by their form, and any other by the comments of nccl-tests, which
// all begin with "#": as many words as stand before the # of one stand before the rows of its table, too ("May 14
// 08:13:35 node1 nccl[42]: ", "pod container ", "> "). Quotes around a line, as in lists of JSON, are taken off.
class LineLabels {
 public:
  std::string_view without(std::string_view line);

 private:
  std::size_t words_ = 0;   // before the # of the last comment
  bool is_number_ = false;  // the first of them, so that rows may begin with a number that is none of theirs
};

}  // namespace shardsim
