#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "models/collective/collective.h"

namespace shardsim {

// Hardware that a run did not use, each with the statement of its log that says so, "NCCL_P2P_DISABLE=1"; "": it did.
struct SwitchedOff {
  std::string peer_to_peer, shared_memory, infiniband, all_but_sockets, gpudirect, nvlinks_of_hosts, other_nics;
  int nics_left = 0;          // in a host, where `other_nics` says so
  std::string network;        // that NCCL said it uses, as it calls it ("IB", "AWS", "FasTrak")
  std::string direct_copies;  // that it did use: by which statement NCCL says that GPUs copied directly; "": not said
};

// One timing that somebody measured and published: a row of a measurement file, or one line of nccl-tests.
struct MeasuredRow {
  Place place;            // file and line
  std::string system;     // label of the machine; the system map names its cluster
  std::string setting;    // settings group inside a system (column `case`); may be empty
  int nodes = 0;          // 0: not said; the system map then says it
  int gpus_per_node = 0;  // used by the run; 0: not said
  int groups_at_once = 1;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::optional<std::int64_t> bytes;  // as nccl-tests counts: buffer per rank, or total per rank
  std::int64_t calls = 1;             // calls that `time` covers
  std::optional<Seconds> time;        // out of place
  std::optional<double> algbw;        // GB/s, as printed by the source
  std::string record_kind, notes, source;
  std::string type, reduction;      // of elements ("float", "f8e4m3") and of the operation ("sum"); "": not said
  std::string algorithm, protocol;  // that the run forced by NCCL_ALGO and NCCL_PROTO; "": NCCL's choice
  bool without_pxn = false;         // NCCL_PXN_DISABLE
  std::optional<int> cross_nic;     // NCCL_CROSS_NIC
  // A kernel has these by NCCL_MIN_CTAS and NCCL_MAX_CTAS, or NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; 0: not said.
  int least_channels = 0, most_channels = 0;

  // Counted in logs, whose nodes are hosts; a node of a cluster may be an NVLink domain of several.
  bool counts_hosts = false;
  int ranks = 0;            // of one group, also where it is not known how they lie on hosts; 0: not said
  int most_hosts = 0;       // nodes that the ranks of a group lie on at most, where the log lists all; 0: not known
  int least_on_host = 0;    // ranks of a group that lie on one host together, by the lines that are left; 0: not known
  int gpus_of_process = 0;  // all on one host, where no line about ranks says more; 0: not known
  std::string counted_by;   // which lines and rates of the log say so
  std::string gpu;          // as the driver names it
  SwitchedOff switched_off;
  std::string caveat;  // why no prediction can be judged by the row, as the log tells; "": none

  bool is_complete() const { return bytes && time; }  // a statement may lack one of the two
  bool is_of_one_gpu() const { return nodes == 1 && gpus_per_node == 1; }
  // Fills in nodes and GPUs that the row does not state.
  void fill_in(int usual_nodes, int usual_gpus) {
    if (nodes == 0) nodes = usual_nodes;
    if (gpus_per_node == 0) gpus_per_node = usual_gpus;
  }
};

// Measured rows and what their readers have to tell.
struct Measurements {
  std::vector<MeasuredRow> rows;
  std::vector<std::string> notes;  // columns and lines that were left out

  void append(Measurements more);
};

// The user's statements about a run of nccl-tests whose output does not make them.
struct RunHints {
  std::string system;                  // "": the file's name without its ending
  std::optional<CollectiveKind> kind;  // selects the programs of this kind; speaks for output that does not say it
};

// The kind by our name or by that of nccl-tests ("alltoall", "all_reduce_perf"); none for uneven exchanges (alltoallv).
std::optional<CollectiveKind> find_collective_kind(std::string_view name);

// Table of the columns in docs/formats/comparisons.md. Errors (Failure::input, file and line): a missing column, a cell
// that is no number, a size of 0 or of 2^53 and more, a time of 0, an unknown collective, ranks that are not nodes x
// GPUs. Rows whose bandwidth and time contradict each other by more than 5 % are noted.
Measurements read_measurement_csv(std::string_view text, const std::string& source);

// Output of nccl-tests programs (NVIDIA/nccl-tests src/util.cu), line by line, so that logs may be larger than memory:
// columns are found by the header line; logs without root column, with a blank redop and with N/A in place are read
// too, labels of launchers before the lines are taken off, other lines passed over. Rows that are torn, of a collective
// that is not known, or of runs whose ranks never met, are left out with a note.
// Errors (Failure::input, file and line): no table, no row that can be used (the first reason), another unit.
Measurements read_nccl_tests_log(std::istream& log, const std::string& source, const RunHints& hints);
Measurements read_nccl_tests_text(std::string_view text, const std::string& source, const RunHints& hints);

// The same run as nccl-tests writes it with -J (file versions 1 to 4).
Measurements read_nccl_tests_json(std::string_view text, const std::string& source, const RunHints& hints);

// A file of one of the three forms, by what it holds; or all .csv, .json, .log, .out and .txt files of a folder, in
// order of their names, where files that cannot be read are left out with a note. Errors: as above; a folder without
// such files; one of which none can be read (that of the first).
Measurements read_measurements(const std::string& path, const RunHints& hints);

// The files of a folder whose names end so, in order of their names. Errors (Failure::input): none does.
std::vector<std::string> files_ending(const std::string& folder, const std::vector<std::string>& endings);

// The rows of one system: of `label`, or of the only one when it is "". Errors (Failure::input): several systems and no
// label, a label that none has.
std::vector<MeasuredRow> rows_of_system(const std::vector<MeasuredRow>& rows, const std::string& label,
                                        const std::string& measurements);

}  // namespace shardsim
