#include "validate/execute/buffers/whole_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/rng.h"
#include "models/access/row_hash.h"
#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/kernels/element.h"

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

// A mean of two, four, eight ... whole numbers is one that fp32 holds.
void check_copies(const Program& program, const Fusion& fusion, const ProgramPlaces& places) {
  const std::size_t copies = program.shard(fusion.shards.front()).holders.size();
  if (!averaged(program, fusion) || std::has_single_bit(copies)) return;
  refuse(places, program.op(fusion.lookup), fmt::format("{} sharding groups have copies of its rows", copies),
         "Means are compared with a single process where 2, 4, 8 ... groups are averaged");
}

// A rank then ends with the batch before the one that was looked up last.
void check_decoding(const Program& program, const Fusion& fusion, const ProgramPlaces& places) {
  const Op& lookup = program.op(fusion.lookup);
  if (!fusion.codec.any() || program.op(fusion.codec.decode).batches_ahead == lookup.batches_ahead) return;
  refuse(places, lookup, "its vectors come out of their codec an iteration later, and are not compared",
         "Check the case with another pipeline, or without wire_dtype.kernels");
}

// Returns the largest error of one rounding, as a part of the number.
double unit_of(Dtype type) {
  if (type == Dtype::fp16) return 0x1p-11;
  if (type == Dtype::bf16) return 0x1p-8;
  return type == Dtype::fp8 ? 0x1p-4 : 0;
}

}  // namespace

WireRounding rounding_of(const Program& program, const Fusion& fusion) {
  WireRounding rounding;
  if (!fusion.codec.any()) return rounding;
  if (fusion.output >= 0) rounding.last = wire_type(program.op(fusion.output), Dtype::fp32);
  if (fusion.scatter < 0) return rounding;
  // Each rank's part is rounded, then each sum of two; and the parts are no larger than what is summed.
  const std::size_t ranks = program.groups.at(program.op(fusion.scatter).group).front().size();
  rounding.of_sums = static_cast<double>(ranks + 1) * unit_of(wire_type(program.op(fusion.scatter), Dtype::fp32));
  rounding.of_sums += 2 * unit_of(rounding.last);
  return rounding;
}

void WireRounding::round(std::vector<float>& values) const {
  if (last == Dtype::fp32 || of_sums > 0) return;
  std::vector<std::byte> wire(values.size() * static_cast<std::size_t>(dtype_bytes(last)));
  const auto count = static_cast<std::int64_t>(values.size());
  encode_elements(ElementType::fp32, values.data(), count, last, wire.data(), 1);
  decode_elements(last, wire.data(), count, ElementType::fp32, values.data(), 1);
}

std::string first_beyond(const std::vector<float>& got, const std::vector<float>& expected,
                         const std::vector<double>& sizes, const WireRounding& rounding, std::int64_t columns,
                         const std::string& what) {
  const auto wide = static_cast<std::size_t>(std::max<std::int64_t>(columns, 1));
  const float most = rounding.last == Dtype::fp8 ? kMostEighth : std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < got.size() && got.size() == expected.size() && got.size() == sizes.size(); ++i) {
    const double allowed = rounding.of_sums * sizes[i];
    if (std::abs(static_cast<double>(got[i]) - std::clamp(expected[i], -most, most)) <= allowed) continue;
    return fmt::format("{} {}, column {}: {}, not {} within {}", what, i / wide, i % wide, got[i], expected[i],
                       allowed);
  }
  if (got.size() == expected.size() && got.size() == sizes.size()) return "";
  return fmt::format("{}: {} numbers, not {}", what, got.size(), expected.size());
}

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
  std::vector<int> moves = fusion.reduces;
  if (!fusion.codec.any()) moves.insert(moves.end(), {fusion.output, fusion.scatter});
  if (!fusion.gradient_codec.any()) moves.insert(moves.end(), {fusion.gradient_exchange, fusion.gather});
  check_copies(program, fusion, places);
  check_decoding(program, fusion, places);
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
