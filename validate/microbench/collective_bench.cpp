#include <fmt/format.h>

#include <iterator>
#include <numeric>

#include "validate/execute/run/execute.h"
#include "validate/microbench/collective_rows.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

constexpr std::int64_t kElement = 4;  // fp32

const char* program_name(OpClass kind) {
  return kind == OpClass::all_reduce ? "all_reduce" : "alltoall";
}

std::string bandwidths(OpClass kind, std::int64_t bytes, int world_size, double us) {
  const double algbw = static_cast<double>(bytes) / us * 1e-3;
  return fmt::format("{:8.2f} {:7.4f} {:7.4f}    N/A", us, algbw,
                     algbw * bus_factor(*collective_kind(kind), world_size));
}

}  // namespace

Program collective_program(const Launch& launch, OpClass kind, std::int64_t bytes) {
  Program program;
  program.case_name = "main";
  program.world_size = launch.world_size;
  program.ranks_per_node = launch.local_size;
  program.batch_per_rank = 1;
  program.streams = {"world"};
  std::vector<int> ranks(launch.world_size);
  std::iota(ranks.begin(), ranks.end(), 0);
  program.groups["world"] = {ranks};
  Op op;
  op.name = op_class_name(kind);
  op.op_class = kind;
  op.group = "world";
  op.dtype = "fp32";
  if (kind == OpClass::all_to_all) {
    ByteMatrix even;
    even.unit_bytes = kElement;
    even.units = {bytes / kElement};
    program.matrices = {{"even", even}};
    op.matrix.index = 0;
  } else {
    op.bytes = bytes;
  }
  program.ops = {op};
  return program;
}

std::string table_head(OpClass kind, const CollectiveTable& table) {
  std::string text = fmt::format("# Collective test starting: {}_perf\n# Using devices\n", program_name(kind));
  for (int rank = 0; rank < table.world_size; ++rank) {
    fmt::format_to(std::back_inserter(text), "#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [0x00] {}\n", rank,
                   0, table.hosts[static_cast<std::size_t>(rank / table.ranks_per_node)], rank % table.ranks_per_node,
                   table.device);
  }
  const std::string_view columns = "     time   algbw   busbw #wrong", units = "     (us)  (GB/s)  (GB/s)       ";
  return fmt::format("{}#\n#       size         count      type   redop    root{}{}\n", text, columns,
                     table.in_place ? columns : "") +
         fmt::format("#        (B)    (elements)                         {}{}\n", units, table.in_place ? units : "");
}

std::string table_row(OpClass kind, std::int64_t bytes, const CollectiveTable& table, double out_of_place_us,
                      double in_place_us) {
  const bool sums = kind == OpClass::all_reduce;
  std::string text =
      fmt::format("{:12} {:13} {:>9} {:>7} {:>7} {}", bytes, bytes / kElement, "float", sums ? "sum" : "none", "-1",
                  bandwidths(kind, bytes, table.world_size, out_of_place_us));
  if (in_place_us >= 0) text += " " + bandwidths(kind, bytes, table.world_size, in_place_us);
  return text + "\n";
}

std::vector<std::int64_t> collective_sizes(bool quick) {
  std::vector<std::int64_t> sizes;
  const std::int64_t most = std::int64_t{1} << (quick ? 20 : 28);
  for (std::int64_t bytes = 4096; bytes <= most; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

std::string bench_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                              const std::vector<std::int64_t>& sizes, CollectiveRows& rows) {
  rows.begin(rendezvous, options.device);
  for (const OpClass kind : {OpClass::all_reduce, OpClass::all_to_all}) {
    for (const std::int64_t bytes : sizes) {
      if (rows.has(kind, bytes)) continue;
      const Program program = collective_program(rendezvous.launch(), kind, bytes);
      const Timeline timeline = execute(program, rendezvous, options, [](const Timeline&) {});
      if (rendezvous.rank() != 0) continue;
      const CollectiveTable table{timeline.measured.hosts, timeline.measured.device, timeline.world_size,
                                  timeline.ranks_per_node};
      const std::string head = bytes == sizes.front() ? table_head(kind, table) : "";
      rows.add(kind, bytes, head + table_row(kind, bytes, table, timeline.iteration_ms * 1e3));
    }
  }
  return "";
}

}  // namespace shardsim
