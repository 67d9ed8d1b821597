#include "validate/execute/buffers/whole_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/rng.h"
#include "models/access/row_hash.h"
#include "validate/execute/fusion/rank_rows.h"

namespace shardsim {
namespace {

constexpr const char* kWhole =
    "Whole-number checks need tables of fp32, of one dimension per sequence lookup, with updates";

void check_reduce(const Program& program, const Fusion& fusion, const ProgramPlaces& places) {
  if (fusion.reduces.empty()) return;
  const Op& reduce = program.op(fusion.reduces.front());
  for (const int rank : program.ranks_of(program.op(fusion.lookup))) {
    std::int64_t summed = 0;
    for (const int id : fusion.reduces) summed += collective_bytes(program, program.op(id), rank).in;
    const auto bytes = rank_rows(program, fusion, rank).elements * static_cast<std::int64_t>(sizeof(float));
    if (bytes <= summed) continue;
    const std::string sums = fusion.reduces.size() > 1 ? "it and those like it sum" : "it sums";
    refuse(places, reduce, fmt::format("{} {} bytes, and the rows of rank {} have {}", sums, summed, rank, bytes),
           "Let the all_reduces of a fusion group be as large as the rows whose gradients they sum");
  }
}

}  // namespace

void check_whole_numbers(const Program& program, const Fusion& fusion, const ProgramPlaces& places) {
  const Op& lookup = program.op(fusion.lookup);
  for (const Fusion::Part& part : fusion.parts) {
    if (part.gradient < 0) refuse(places, program.op(part.lookup), "nothing updates its rows", kWhole);
  }
  for (const int index : fusion.shards) {
    const Table& table = program.table_of(index);
    if (table.dtype != Dtype::fp32) {
      refuse(places, lookup, fmt::format("table {} is {}", table.name, dtype_name(table.dtype)), kWhole);
    }
    if (!fusion.pooled && program.shard(index).columns() != program.shard(fusion.shards.front()).columns()) {
      refuse(places, lookup, "its shards have different dimensions", kWhole);
    }
  }
  std::vector<int> moves{fusion.output, fusion.gradient_exchange, fusion.scatter, fusion.gather};
  moves.insert(moves.end(), fusion.reduces.begin(), fusion.reduces.end());
  for (const int id : moves) {
    if (id >= 0 && !program.op(id).dtype.empty() && program.op(id).dtype != "fp32") {
      refuse(places, program.op(id), fmt::format("it moves {}", program.op(id).dtype), kWhole);
    }
  }
  check_reduce(program, fusion, places);
}

float first_value(std::uint64_t piece_key, std::uint64_t local_row, std::int64_t column) {
  const std::uint64_t of_row = mix(piece_key, (local_row + 1) * kGolden);
  return static_cast<float>(static_cast<int>(mix(of_row, (static_cast<std::uint64_t>(column) + 1) * kGolden) >> 60) -
                            8);
}

std::uint64_t piece_key(const Program& program, int shard, int piece) {
  const std::uint64_t of_rows =
      mix(fnv1a(program.table_of(shard).name), (program.shard(shard).row_begin + 1) * kGolden);
  return mix(of_rows, (static_cast<std::uint64_t>(piece) + 1) * kGolden);
}

float gradient_value(int rank, int lookup_op, std::int64_t i, std::int64_t column) {
  const std::uint64_t seat = (static_cast<std::uint64_t>(rank) << 32) + static_cast<std::uint64_t>(lookup_op);
  const std::uint64_t of_row = mix(seat, (static_cast<std::uint64_t>(i) + 1) * kGolden);
  return static_cast<float>(static_cast<int>(mix(of_row, (static_cast<std::uint64_t>(column) + 1) * kGolden) % 5) - 2);
}

std::string first_difference(const std::vector<float>& got, const std::vector<float>& expected, std::int64_t columns,
                             const std::string& what) {
  const std::size_t both = std::min(got.size(), expected.size());
  const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(columns, 1));
  for (std::size_t i = 0; i < both; ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected[i])) continue;
    return fmt::format("{} {}, column {}: {}, not {}", what, i / wide, i % wide, got[i], expected[i]);
  }
  if (got.size() == expected.size()) return "";
  return fmt::format("{}: {} numbers, not {}", what, got.size(), expected.size());
}

}  // namespace shardsim
