#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "accuracy/measurements/read/log_line.h"

namespace shardsim {

// How nccl-tests was told to measure: by its header line ("nThread 1 nGpus 8 ... agg iters: 1 ... graph: 0"), by the
// config of its JSON, and by the options of the command above the table, of which the header line names some only.
class RunMethod {
 public:
  // True of a line that states NCCL_TESTS_SPLIT or its mask, by which ranks of one process are in several groups.
  static bool splits(std::string_view line);

  void read_header(const std::vector<std::string>& words);
  void read_command(const NcclCommand& command);
  // A line behind a command that ended in a backslash.
  void read_options(const std::vector<std::string>& words);
  // A value of the config or of the header, by its name in either; "blocking" is a line of its own.
  void set(std::string_view name, const std::string& value);
  void split() { is_split_ = true; }

  // GPUs of each process, all on one host and in one group; 0: not said, or not in one group.
  int gpus_of_process() const;
  // True where the command starts one process.
  bool is_one_process() const { return commands_ == 1 && !is_launched_; }

  // Why a printed time is not that of one call on its own; "": it is.
  std::string not_one_call() const;
  // What else changes times, and no prediction knows of, "graph: 10, -R 2"; "": nothing, or they are none of one call.
  std::string unlike() const;

 private:
  int threads_ = 0, gpus_ = 0;                    // 0: not said
  int aggregated_ = 1, graph_ = 0, unalign_ = 0;  // as printed
  int blocking_ = 0, cpu_time_ = 0;               // 0: not
  int warmup_ = -1, iterations_ = -1;             // -1: not said
  bool is_launched_ = false, is_split_ = false;
  int commands_ = 0;
  std::vector<std::string> options_;  // that no header names, as they were written
};

}  // namespace shardsim
