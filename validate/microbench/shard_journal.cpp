#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "validate/microbench/shard_bench.h"

namespace shardsim {
namespace {

// "SHARD FORWARD_US BACKWARD_US".
void take_line(const Journal::Line& line, std::vector<VisitedShard>& shards) {
  const std::vector<std::string> parts = split(line.text, ' ');
  if (parts.size() != 3) throw no_line_of(line);
  const auto shard = static_cast<std::size_t>(parse_count(parts[0], line.place));
  const double forward = parse_real(parts[1], line.place), backward = parse_real(parts[2], line.place);
  if (shard >= shards.size() || !(forward > 0) || !(backward > 0)) throw no_line_of(line);
  shards[shard].add({1e-6 * forward, 1e-6 * backward});
}

}  // namespace

ShardJournal::ShardJournal(const std::filesystem::path& output, const std::string& what,
                           std::vector<VisitedShard>& shards)
    : journal_(output, what) {
  for (const Journal::Line& line : journal_.lines()) take_line(line, shards);
}

void ShardJournal::add(std::size_t shard, const ShardSeconds& visit) {
  journal_.add(fmt::format("{} {} {}", shard, shortest(1e6 * visit.forward), shortest(1e6 * visit.backward)));
}

}  // namespace shardsim
