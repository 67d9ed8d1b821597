#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "validate/execute/devices/machine.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostColumns = 12288;
constexpr std::size_t kMostShards = 65535;
constexpr double kLookups = 2147483648.0;  // 2^31
constexpr double kBags = 4294967296.0;     // 2^32

double most(const PerRank& values) {
  return *std::ranges::max_element(values.values);
}

void check_lookup_limits(const Program& program, const ProgramPlaces& places, const Op& lookup) {
  const auto fail = [&](const std::string& wrong, const char* remedy) { refuse(places, lookup, wrong, remedy); };
  for (const int index : lookup.shards) {
    const std::int64_t columns = program.shard(index).columns();
    if (columns > kMostColumns) {
      fail(fmt::format("shard {} has {} columns, and the kernels take {}", index, columns, kMostColumns),
           "Cut the table by columns, or use --device cpu");
    }
  }
  const char* const smaller = "Use a smaller batch per GPU, or --device cpu";
  if (most(lookup.lookups) >= kLookups) fail("a rank has 2^31 lookups or more", smaller);
  if (!lookup.pooled) return;
  if (lookup.shards.size() > kMostShards) {
    fail(fmt::format("it reads {} shards in one call, and the kernels take {}", lookup.shards.size(), kMostShards),
         "Place the tables by several strategies, or use --device cpu");
  }
  if (most(lookup.bags) >= kBags) fail("a rank has 2^32 bags or more", smaller);
}

}  // namespace

void check_gpu_limits(const Program& program, const ProgramPlaces& places) {
  for (const Op& op : program.ops) {
    if (op.op_class == OpClass::lookup) check_lookup_limits(program, places, op);
  }
}

std::int64_t least_gpu_bytes(const Program& program, int rank) {
  std::int64_t bytes = 0;
  for (const Fusion& fusion : fusions_of(program, {})) {
    for (const RankRows::Part& part : rank_rows(program, fusion, rank).parts) {
      const Table& table = program.table_of(part.shard);
      if (!part.on_host) bytes += part.rows * part.dim * element_bytes(element_type(table.dtype, {table.name}));
    }
  }
  return bytes;
}

void check_gpu_memory(const Program& program, int rank, std::int64_t free_bytes) {
  const std::int64_t bytes = least_gpu_bytes(program, rank);
  if (bytes <= free_bytes) return;
  const auto gib = [](std::int64_t count) { return static_cast<double>(count) / kGiB; };
  throw Error(Failure::infeasible, {},
              fmt::format("the rows of rank {} take {:.1f} GiB alone, and its GPU has {:.1f} GiB free", rank,
                          gib(bytes), gib(free_bytes)),
              "Use more GPUs, a plan that spreads the tables, or a smaller case");
}

}  // namespace shardsim
