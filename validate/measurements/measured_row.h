#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "models/collective/collective.h"

namespace shardsim {

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
  std::string nccl_version, record_kind, notes, source;

  bool is_complete() const { return bytes && time; }  // a statement may lack one of the two
  bool is_of_one_gpu() const { return nodes == 1 && gpus_per_node == 1; }
};

}  // namespace shardsim
