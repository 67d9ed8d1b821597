#include "models/compute/kernels/table_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "models/access/row_lines.h"

namespace shardsim {
namespace {

constexpr int kWarp = 32;              // lanes of a whole warp
constexpr double kLaneColumns = 4;     // that a lane moves at once
constexpr double kGroupColumns = 128;  // that 32 lanes move at once
constexpr double kIdBytes = 8;         // of an id, and of the place of a bag
constexpr int kVectorElement = 4;      // bytes: vectors and their gradients are fp32

double count_of(Bytes bytes) {
  return static_cast<double>(bytes.count);
}

double widest_of(const std::vector<TableWork>& tables) {
  double widest = 0;
  for (const TableWork& table : tables) widest = std::max(widest, table.columns);
  return widest;
}

// The groups of a call, or where each table has lanes of its own, those of a table.
struct Groups {
  int lanes = kWarp;
  double warps = 1;  // of a group, as a part of one; more where it loops over columns

  Groups(double columns, int least_lanes, double more_columns) {
    lanes = group_lanes(columns, least_lanes);
    const double loops = std::max(1.0, std::ceil(columns / kGroupColumns));
    warps = lanes / static_cast<double>(kWarp) * (1 + more_columns * (loops - 1));
  }

  // The chance that one of the groups of a warp waits, each of which does with chance `one`: all wait for it.
  double some_waits(double one) const {
    const int groups = kWarp / lanes;
    return 1 - (groups == 1 ? 1 - one : std::pow(1 - one, groups));  // most tables are so wide that it is one
  }
};

std::int64_t whole(double bytes) {
  return static_cast<std::int64_t>(bytes);
}

std::int64_t bytes_of_vector(const TableWork& table) {
  return whole(table.columns) * kVectorElement;
}

std::int64_t sample_bytes(const std::vector<TableWork>& tables) {
  std::int64_t bytes = 0;
  for (const TableWork& table : tables) bytes += bytes_of_vector(table);
  return bytes;
}

// Bytes of lines of a vector in the output; those of a sequence lie alone.
double vector_bytes(const TableWork& table, const CallPlaces& places, std::int64_t line) {
  const std::int64_t bytes = bytes_of_vector(table);
  return table.pooled ? places.vector(bytes, line) : static_cast<double>(bytes);
}

void pass(CallPlaces& places, const TableWork& table) {
  places.pass(table.rows * table.row_bytes, bytes_of_vector(table));
}

// Holds what one table adds to a lookup.
struct LookupPart {
  double seconds = 0;  // of its work, all groups together
  double bytes = 0;    // of memory
  double chain = 0;    // s, of one of its bags
  bool wide = false;   // rows that come near the rate of the memory
};

// For narrower rows the memory's rate was fitted as it is: on an H100 and an H200 they do not come near it. On GPUs
// with less memory rate for each group they may (A100 from 128 columns of fp32), which nobody has measured.
constexpr double kWideRowBytes = 1024;

class LookupLaw {
 public:
  LookupLaw(const std::vector<TableWork>& tables, const KernelFamily& family, const GpuConstants& gpu)
      : tables_(tables),
        family_(family),
        law_(family.lookup),
        widest_(widest_of(tables)),
        groups_(law_.groups_of_sm * gpu.sm_count),
        l2_(family.l2_share * count_of(gpu.l2)) {}

  double seconds(Bandwidth most) const {
    std::vector<LookupPart> parts;
    parts.reserve(tables_.size());
    CallPlaces places(family_.row_alignment, sample_bytes(tables_));
    for (const TableWork& table : tables_) {
      parts.push_back(part_of(table, places));
      pass(places, table);
    }
    return law_.start.value + together(parts, most.bytes_per_second);
  }

 private:
  Groups groups_at(const TableWork& table) const {
    return {family_.own_lanes ? table.columns : widest_, family_.least_lanes, law_.more_columns};
  }

  LookupPart part_of(const TableWork& table, const CallPlaces& places) const {
    const Groups groups = groups_at(table);
    const double lookups = std::max(table.lookups, 1e-9), share = table.share();
    const double line = places.row(whole(table.row_bytes), kGpuCacheLine);
    const double from_dram = misses(table, l2_ / line), from_l2 = std::max(hot_misses(table, line), from_dram);
    const double dram = groups.some_waits(std::min(share * from_dram / lookups, 1.0));
    const double l2 = groups.some_waits(std::min(share * from_l2 / lookups, 1.0));
    LookupPart part;
    part.chain = chain(table, l2, dram, groups.lanes);
    part.wide = static_cast<double>(table.row_bytes) >= kWideRowBytes;
    part.bytes = share * from_dram * places.row(whole(table.row_bytes), kGpuMemoryLine) +
                 table.vectors() * vector_bytes(table, places, kGpuCacheLine) + kIdBytes * (table.lookups + table.bags);
    part.seconds = table.bags * groups.warps * part.chain / groups_ +
                   table.lookups * groups.warps * law_.row_issue.value + table.vectors() * law_.vector_issue.value +
                   share * from_l2 * line / law_.cache.bytes_per_second;
    return part;
  }

  // Lookups that miss L2, of all owners together; each holds its part of the rows in a cache of its own.
  static double misses(const TableWork& table, double cached_rows) {
    const double share = table.share();
    return share > 0 ? table.reuse.missed_by(cached_rows / share) : 0;
  }

  // The same of L1, which every SM has: each row that lies there was read before, by whomever.
  double hot_misses(const TableWork& table, double line) const {
    const double rows = count_of(family_.l1) / line, share = table.share();
    return share > 0 && rows < share * table.reuse.distinct ? misses(table, rows) : 0;
  }

  double chain(const TableWork& table, double l2, double dram, int lanes) const {
    const double length = table.bags > 0 ? table.lookups / table.bags : 0;
    const double row = table.pooled ? law_.row_from_l2.value * l2 + law_.row_from_dram.value * dram
                                    : law_.sequence_row.value + law_.sequence_dram.value * dram;
    return law_.bag_start.value + length * (row + law_.ids.value / lanes);
  }

  // Bytes of others that leave L2 as the call fills it. A short call hides them behind its own latency.
  double evicted(double bytes) const {
    const double held = count_of(law_.written_back), filled = bytes * bytes;
    return filled > 0 ? held * filled / (filled + held * held) : 0;
  }

  // Tables run one after the other; what is left of the longest bag when all others are done comes on top, in part.
  // No more bytes of wide rows than `most` move in a second.
  double together(const std::vector<LookupPart>& parts, double most) const {
    const double memory = law_.memory.bytes_per_second;
    double work = 0, bytes = 0, left = 0, least = 0;
    for (std::size_t i = parts.size(); i-- > 0;) {
      const double own = parts[i].seconds + parts[i].bytes / memory;
      left = std::max(left, parts[i].chain - work);
      work += own;
      least += parts[i].wide ? std::max(own, parts[i].bytes / most) : own;
      bytes += parts[i].bytes;
    }
    work = std::max(work + evicted(bytes) / memory, least);
    const double drain = std::max(law_.drain, 1.0);
    return std::pow(std::pow(work, drain) + std::pow(left, drain), 1 / drain);
  }

  const std::vector<TableWork>& tables_;
  const KernelFamily& family_;
  const KernelFamily::Lookup& law_;
  double widest_, groups_, l2_;
};

}  // namespace

int group_lanes(double columns, int least) {
  const int wanted = columns <= 8 * kLaneColumns ? 8 : columns <= 16 * kLaneColumns ? 16 : kWarp;
  return std::max(wanted, least);
}

Seconds tables_lookup_time(const std::vector<TableWork>& tables, const KernelFamily& family, const GpuConstants& gpu) {
  return {LookupLaw(tables, family, gpu).seconds(gpu.copy_bandwidth)};
}

Seconds unbounded_lookup_time(const std::vector<TableWork>& tables, const KernelFamily& family,
                              const GpuConstants& gpu) {
  return {LookupLaw(tables, family, gpu).seconds({std::numeric_limits<double>::infinity()})};
}

namespace {

constexpr int kPassBits = 8;       // of a key that a pass of the sort looks at
constexpr double kIdsOfStep = 32;  // of a bag that a warp numbers at once

// Bytes read and written of what the optimizer keeps of each different row.
double state_traffic(const TableWork& table, const std::string& optimizer) {
  if (optimizer == "rowwise_adagrad") return static_cast<double>(2 * kGpuMemoryLine);
  const std::int64_t lines = (bytes_of_vector(table) + kGpuMemoryLine - 1) / kGpuMemoryLine;
  const auto row = static_cast<double>(2 * kGpuMemoryLine * lines);
  if (optimizer == "adagrad") return row;
  return optimizer == "adam" || optimizer == "lamb" ? 2 * row : 0;
}

int key_bits(const std::vector<TableWork>& tables) {
  double rows = 0;
  for (const TableWork& table : tables) rows += table.rows;
  return rows > 1 ? static_cast<int>(std::floor(std::log2(rows))) + 1 : 1;
}

class UpdateLaw {
 public:
  UpdateLaw(const std::vector<TableWork>& tables, const std::string& optimizer, const KernelFamily& family,
            const GpuConstants& gpu)
      : tables_(tables),
        optimizer_(optimizer),
        family_(family),
        law_(family.update),
        widest_(widest_of(tables)),
        l2_(family.l2_share * count_of(gpu.l2)) {}

  double seconds() const {
    double rows = 0, lookups = 0, longest_bag = 0, longest_piece = 0;
    CallPlaces places(family_.row_alignment, sample_bytes(tables_));
    for (const TableWork& table : tables_) {
      rows += table_seconds(table, places);
      pass(places, table);
      lookups += table.lookups;
      if (table.bags > 0) longest_bag = std::max(longest_bag, std::ceil(table.lookups / table.bags / kIdsOfStep));
      longest_piece = std::max(longest_piece, std::min<double>(table.reuse.largest, kLongestPiece));
    }
    return law_.start.value + sort_seconds(lookups) + longest_bag * law_.longest_bag.value +
           longest_piece * law_.longest_piece.value + rows;
  }

 private:
  double sort_seconds(double pairs) const {
    const int passes = (key_bits(tables_) + kPassBits - 1) / kPassBits;
    return passes * (law_.sort_pass.value + pairs * law_.pass_pair.value) + pairs * law_.pair.value;
  }

  double table_seconds(const TableWork& table, const CallPlaces& places) const {
    const RowReuse& reuse = table.reuse;
    const double share = table.share(), distinct = share * reuse.distinct;
    const double short_rows = std::max(distinct - share * reuse.long_rows, 0.0);
    const double short_lookups = std::max(table.lookups - share * reuse.long_lookups, 0.0);
    const double by_lanes =
        short_rows * law_.row_lanes.value + short_lookups * law_.gradient.value +
        share * (reuse.long_pieces * law_.piece.value + reuse.long_lookups * law_.piece_gradient.value);
    const Groups groups(family_.own_lanes ? table.columns : widest_, family_.least_lanes, law_.more_columns);
    const double state_bytes = state_traffic(table, optimizer_);
    const double row = 2 * places.row(whole(table.row_bytes), kGpuMemoryLine) + state_bytes;
    const double bytes = gradient_bytes(table, places) + distinct * row;
    const double state = state_bytes > 0 ? distinct * law_.state.value : 0;
    return law_.table.value + table.bags * law_.bag.value + short_rows * law_.row.value + groups.warps * by_lanes +
           state + bytes / law_.memory.bytes_per_second +
           table.lookups * table.columns * kVectorElement / law_.cache.bytes_per_second;
  }

  // Each gradient of a vector comes from memory once, and again for further lookups as far as L2 does not hold them
  // all.
  double gradient_bytes(const TableWork& table, const CallPlaces& places) const {
    const double one = vector_bytes(table, places, kGpuMemoryLine);
    const double met = std::min(table.vectors(), table.lookups);
    const double kept = std::min(1.0, l2_ / std::max(met * one, 1.0));
    return met * one + (table.lookups - met) * one * (1 - kept);
  }

  const std::vector<TableWork>& tables_;
  const std::string& optimizer_;
  const KernelFamily& family_;
  const KernelFamily::Update& law_;
  double widest_, l2_;
};

}  // namespace

Seconds tables_update_time(const std::vector<TableWork>& tables, const std::string& optimizer,
                           const KernelFamily& family, const GpuConstants& gpu) {
  return {UpdateLaw(tables, optimizer, family, gpu).seconds()};
}

}  // namespace shardsim
