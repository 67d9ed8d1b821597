#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/rank_counts.h"
#include "accuracy/measurements/read/run_method.h"
#include "accuracy/measurements/read/run_settings.h"

namespace shardsim {

inline constexpr const char* kAsPrinted = "Give the output as nccl-tests printed it";

// A row of an nccl-tests table as it was printed.
struct PrintedRow {
  Place place;
  std::int64_t bytes = 0;
  double time_us = 0;
  std::optional<double> algbw, busbw;  // GB/s
  std::string type, reduction;         // "float", "sum"; "" when the table does not say
  double wrong = 0;                    // values that nccl-tests found wrong, out of place and in place
};

// Collects the rows of nccl-tests programs that ran one after the other, in whatever form they were printed. A run's
// rows are finished together, because only all of them tell whether its lines about ranks are whole.
class NcclRuns {
 public:
  NcclRuns(const std::string& source, const RunHints& hints);

  // A program begins: its name, or a path to it. Errors: none; rows of a collective that is not known are lost.
  void start(const std::string& program, const Place& place);
  // A command begins a program.
  void start(const NcclCommand& command, const Place& place);
  // How the run is measured; behind rows that is the next one.
  RunMethod& method();
  // A list of devices begins: rows before it belong to the run before it.
  void begin_devices();
  void add(RunDevice device);
  void add(PrintedRow row);
  void zero_size() { ++zero_sizes_; }
  // A row that cannot be read, or of a run that cannot: `why` is told for the first one of them.
  void lose(const Error& why);
  void wrong_values(const std::string& count) { wrong_ = count; }
  // Another library than NCCL did what the rows are of: they are lost.
  void foreign_library(const std::string& name, const Place& place);
  void foreign_program(const std::string& name) { foreign_ = name; }
  // Behind rows it is one of the next run.
  void set(const RunSetting& setting) { (rows_.empty() ? settings_ : next_settings_).set(setting); }
  // The lines behind a table, which a run that was stopped never prints.
  void end() { has_ended_ = true; }
  // A line by which nccl-tests says that it gives up.
  void fail(const std::string& line) {
    if (failure_.empty()) failure_ = line;
  }

  // All rows so far and what is to be told of them. Errors (Failure::input): no row is left; says why the first was
  // lost, or that the table has none.
  Measurements take();

 private:
  std::optional<CollectiveKind> kind_of_run(const Place& place);
  void finish();
  void finish_run();
  // Behind rows, what follows is of another run.
  void end_rows();
  void note_stop();
  void finish_rows(CollectiveKind kind, const RankCounts& counts);
  void lose_rows(const Error& why);
  bool have_never_met(const BusRatio& ratio) const;
  std::string wrong_text() const;
  std::string caveat() const;
  void note(const std::string& text);

  std::string source_, system_;
  std::optional<CollectiveKind> by_name_, asked_;  // by the file's name, and by the user
  std::optional<CollectiveKind> kind_;             // by the program's name
  std::optional<Error> unknown_program_;
  std::vector<RunDevice> devices_, earlier_devices_;
  std::vector<PrintedRow> rows_;
  std::string wrong_, foreign_;
  RunSettings settings_, next_settings_;
  RunMethod method_;
  bool has_ended_ = false;
  std::string failure_;
  int zero_sizes_ = 0, lost_ = 0, not_asked_ = 0;
  std::optional<Error> first_lost_;
  Measurements result_;
};

// The kind that a name holds between its words, the longest of them: all_reduce in "h100_2x8_all_reduce_ib". Nothing
// where it holds none, or two.
std::optional<CollectiveKind> kind_within(const std::string& name);

}  // namespace shardsim
