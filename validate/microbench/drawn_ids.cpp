#include "validate/microbench/drawn_ids.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "models/access/row_hash.h"

namespace shardsim {
namespace {

constexpr double kAlike = 0.995;      // least over largest probability in a stretch
constexpr double kNegligible = 1e-9;  // of all accesses

// Between the first position of a range and its last one, where popularity has fallen half as often.
std::uint64_t middle_of(std::uint64_t first, std::uint64_t end) {
  const double mean = std::sqrt((static_cast<double>(first) + 1) * static_cast<double>(end));
  return std::clamp(static_cast<std::uint64_t>(mean), first + 1, end - 1);
}

// The ids of one table, and where its bags begin in them.
void draw_table(const DrawnIds::Table& table, std::int64_t bags, const PositionDraw& positions, std::uint64_t salt,
                BenchInput& input) {
  for (std::int64_t bag = 1; bag <= bags; ++bag)
    input.offsets.push_back(table.first +
                            static_cast<std::int64_t>(std::floor(static_cast<double>(bag) * table.average_length)));
  std::vector<std::uint64_t> ids(static_cast<std::size_t>(input.offsets.back() - table.first));
  Rng rng(mix(table.name, salt));
  for (std::uint64_t& id : ids) id = positions.draw(rng);
  permute_all(ids, table.rows, table.key);
  input.indices.insert(input.indices.end(), ids.begin(), ids.end());
}

}  // namespace

PositionDraw::PositionDraw(const AccessDistribution& access) : mass_(access.total()) {
  cut(access, 0, access.rows());
  set_guides();
}

// The stretches of [first, end), in order. Popularity does not rise, so that a range is as even as its ends are.
void PositionDraw::cut(const AccessDistribution& access, std::uint64_t first, std::uint64_t end) {
  const double most = access.probability(first), least = access.probability(end - 1), sum = access.sum(first, end);
  if (!(most > 0)) return;
  const bool is_even = end - first == 1 || least >= kAlike * most || (least > 0 && sum <= kNegligible * mass_);
  if (!is_even) {
    const std::uint64_t middle = middle_of(first, end);
    cut(access, first, middle);
    return cut(access, middle, end);
  }
  add({first, end - first, access.prefix(first), least == most ? most : sum / static_cast<double>(end - first)});
}

void PositionDraw::add(const Stretch& stretch) {
  if (!stretches_.empty()) {
    Stretch& last = stretches_.back();
    if (last.each == stretch.each && last.first + last.positions == stretch.first) {
      last.positions += stretch.positions;
      return;
    }
  }
  stretches_.push_back(stretch);
}

void PositionDraw::set_guides() {
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i <= IdLaw::kGuides; ++i) {
    const double mass = mass_ * (static_cast<double>(i) / IdLaw::kGuides);
    while (at + 1 < stretches_.size() && stretches_[at + 1].before <= mass) ++at;
    guides_.push_back(at);
  }
}

void DrawnIds::add(Table table) {
  table.first = count;
  count += static_cast<std::int64_t>(std::floor(static_cast<double>(bags) * table.average_length));
  tables.push_back(table);
}

BenchInput draw(const DrawnIds& ids, const std::vector<PositionDraw>& laws, std::uint64_t salt) {
  BenchInput input;
  input.offsets.push_back(0);
  for (const DrawnIds::Table& table : ids.tables)
    draw_table(table, ids.bags, laws.at(static_cast<std::size_t>(table.law)), salt, input);
  return input;
}

void DrawnNeed::include(const BenchPoint& point, const DrawnIds& ids) {
  type = point.type;
  table_bytes = std::max(table_bytes, point.table_bytes());
  state_bytes = std::max(state_bytes, point.state_bytes());
  output_bytes = std::max(output_bytes, point.output_bytes());
  gradients = std::max(gradients, point.gradients());
  lookups = std::max(lookups, ids.count);
  offsets = std::max(offsets, ids.offsets());
  tables = std::max(tables, static_cast<int>(point.tables.size()));
  for (const BenchPoint::TableShape& table : point.tables) dim = std::max(dim, table.dim);
}

std::int64_t DrawnNeed::bytes() const {
  constexpr std::int64_t kSorting = 48;  // pairs twice, and what the sort and the sums of popular rows take
  return table_bytes + state_bytes + output_bytes + 4 * gradients + (8 + kSorting) * lookups + 8 * offsets;
}

}  // namespace shardsim
