#include <fmt/format.h>

#include <iterator>
#include <numeric>

#include "validate/execute/run/execute.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

constexpr std::int64_t kElement = 4;  // fp32

Program program_of(const Launch& launch, OpClass kind, std::int64_t bytes) {
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

std::string header(const std::string& name, const Timeline& timeline) {
  std::string text = fmt::format("# Collective test starting: {}_perf\n# Using devices\n", name);
  for (int rank = 0; rank < timeline.world_size; ++rank) {
    fmt::format_to(std::back_inserter(text), "#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [0x00] {}\n", rank,
                   0, timeline.measured.hosts[rank / timeline.ranks_per_node], rank % timeline.ranks_per_node,
                   timeline.measured.device);
  }
  return text +
         "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n";
}

std::string row(std::int64_t bytes, const Op& op, const Timeline& timeline) {
  const double us = timeline.iteration_ms * 1e3;
  const double algbw = static_cast<double>(bytes) / us * 1e-3;
  const bool sums = op.op_class == OpClass::all_reduce;
  return fmt::format("{:12} {:13} {:>9} {:>7} {:>7} {:8.2f} {:7.4f} {:7.4f}    N/A\n", bytes, bytes / kElement, "float",
                     sums ? "sum" : "none", "-1", us, algbw,
                     algbw * bus_factor(*collective_kind(op.op_class), timeline.world_size));
}

}  // namespace

std::vector<std::int64_t> collective_sizes(bool quick) {
  std::vector<std::int64_t> sizes;
  const std::int64_t most = std::int64_t{1} << (quick ? 20 : 28);
  for (std::int64_t bytes = 4096; bytes <= most; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

std::string bench_collectives(Rendezvous& rendezvous, const ExecuteOptions& options,
                              const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const OpClass kind : {OpClass::all_reduce, OpClass::all_to_all}) {
    for (const std::int64_t bytes : sizes) {
      const Program program = program_of(rendezvous.launch(), kind, bytes);
      const Timeline timeline = execute(program, rendezvous, options, [](const Timeline&) {});
      if (rendezvous.rank() != 0) continue;
      if (bytes == sizes.front()) text += header(kind == OpClass::all_reduce ? "all_reduce" : "alltoall", timeline);
      text += row(bytes, program.ops.front(), timeline);
    }
  }
  return text;
}

}  // namespace shardsim
