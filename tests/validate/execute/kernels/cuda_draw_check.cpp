#include <algorithm>
#include <cmath>
#include <set>

#include "models/access/row_hash.h"
#include "tests/validate/execute/kernels/cuda_checks.h"
#include "validate/execute/kernels/cuda_draw.h"
#include "validate/microbench/drawn_ids.h"

namespace shardsim {
namespace {

using cuda::DeviceBuffer;

AccessSpec steps_law() {
  AccessSpec spec;
  spec.family = "steps";
  spec.steps = {{3, 4000}, {50, 40}, {900, 2}, {10'000, 0.0625}};
  return spec;
}

AccessSpec zipf_law(double exponent) {
  AccessSpec spec;
  spec.family = "zipf";
  spec.s = exponent;
  return spec;
}

AccessSpec log_normal_law() {
  AccessSpec spec;
  spec.family = "log_normal";
  spec.sigma = 3;
  return spec;
}

struct LawOfRows {
  const char* name;
  AccessDistribution access;
};

// Tables of one row and of many, each row as often as any other and only a few of them ever.
std::vector<LawOfRows> laws_of_rows() {
  return {{"steps", {steps_law(), 50'000, 2.5}},
          {"zipf 1.1", {zipf_law(1.1), 1'000'003, 3}},
          {"zipf 0.6", {zipf_law(0.6), 4096, 0.25}},
          {"log-normal", {log_normal_law(), 20'000, 7.3}},
          {"uniform", {{}, 300, 1}},
          {"one row", {{}, 1, 4}}};
}

DrawnIds ids_of(const std::vector<LawOfRows>& laws, std::int64_t bags) {
  DrawnIds ids;
  ids.bags = bags;
  for (int law = 0; law < static_cast<int>(laws.size()); ++law) {
    const AccessDistribution& access = laws[law].access;
    ids.add({law, access.rows(), hash_key(laws[law].name, 3, 1), fnv1a(laws[law].name), access.total()});
  }
  return ids;
}

// The same ids as a call of the device draws them.
BenchInput drawn_there(const DrawnIds& ids, const std::vector<PositionDraw>& laws, std::uint64_t salt) {
  std::vector<DeviceBuffer> arrays;
  std::vector<cuda::DrawnTable> tables;
  for (const DrawnIds::Table& table : ids.tables) {
    arrays.push_back(on_device(laws[table.law].stretches()));
    arrays.push_back(on_device(laws[table.law].guides()));
    const IdLaw law{arrays[arrays.size() - 2].as<Stretch>(), arrays.back().as<std::uint32_t>(), laws[table.law].mass()};
    tables.push_back({law, table.rows, table.key, table.name, table.first, table.average_length});
  }
  const DeviceBuffer described = on_device(tables);
  const DeviceBuffer indices(static_cast<std::size_t>(8 * ids.count), "a check"),
      offsets(static_cast<std::size_t>(8 * ids.offsets()), "a check");
  const int count = static_cast<int>(tables.size());
  cuda::draw_ids(described.as<cuda::DrawnTable>(), count, ids.count, salt, indices.as<std::int64_t>(), nullptr);
  cuda::begin_bags(described.as<cuda::DrawnTable>(), count, ids.bags, ids.count, offsets.as<std::int64_t>(), nullptr);
  BenchInput input;
  input.indices = from_device<std::int64_t>(indices);
  input.offsets = from_device<std::int64_t>(offsets);
  return input;
}

// Parts of the rows, of about a fiftieth of the accesses each, as ends of positions.
std::vector<std::uint64_t> parts_of(const AccessDistribution& access) {
  std::vector<std::uint64_t> ends;
  for (int part = 1; part < 50; ++part) ends.push_back(access.position_at(access.total() * part / 50));
  ends.push_back(access.rows());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (ends.front() == 0) ends.erase(ends.begin());
  return ends;
}

// Pearson's statistic of what was drawn, part by part, against the law; five standard deviations are allowed.
std::string load_fault(const AccessDistribution& access, const std::vector<std::uint64_t>& positions) {
  const std::vector<std::uint64_t> ends = parts_of(access);
  std::vector<double> met(ends.size());
  for (const std::uint64_t position : positions)
    ++met[std::upper_bound(ends.begin(), ends.end(), position) - ends.begin()];
  double statistic = 0;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double expected = static_cast<double>(positions.size()) * access.sum(begin, ends[i]) / access.total();
    statistic += (met[i] - expected) * (met[i] - expected) / expected;
    begin = ends[i];
  }
  const double freedom = static_cast<double>(ends.size()) - 1;
  if (statistic <= freedom + 5 * std::sqrt(2 * freedom) + 1e-9) return {};
  return "loads are off: " + std::to_string(statistic) + " with " + std::to_string(freedom) + " degrees of freedom";
}

// The number of different rows, whose deviation is below that of a Poisson number.
std::string distinct_fault(const AccessDistribution& access, const std::vector<std::uint64_t>& positions) {
  const std::set<std::uint64_t> different(positions.begin(), positions.end());
  const double expected = access.expected_distinct(0, access.rows(), static_cast<double>(positions.size()));
  const auto met = static_cast<double>(different.size());
  if (std::abs(met - expected) <= 5 * std::sqrt(expected) + 1e-3 * expected) return {};
  return std::to_string(met) + " different rows, not " + std::to_string(expected);
}

std::string law_fault(const DrawnIds::Table& table, const AccessDistribution& access, const BenchInput& input,
                      std::int64_t end) {
  std::vector<std::uint64_t> positions;
  for (std::int64_t i = table.first; i < end; ++i)
    positions.push_back(unpermute(static_cast<std::uint64_t>(input.indices[i]), table.rows, table.key));
  const std::string loads = load_fault(access, positions);
  return loads.empty() ? distinct_fault(access, positions) : loads;
}

}  // namespace

void check_draws(CheckTally& tally) {
  const std::vector<LawOfRows> rows = laws_of_rows();
  std::vector<PositionDraw> laws;
  for (const LawOfRows& law : rows) laws.emplace_back(law.access);
  for (const std::int64_t bags : {1, 7, 20'000}) {
    const DrawnIds ids = ids_of(rows, bags);
    const BenchInput here = draw(ids, laws, 5), there = drawn_there(ids, laws, 5);
    const std::string of = ", " + std::to_string(bags) + " bags";
    tally.record("ids as the host draws them" + of, here.indices == there.indices ? "" : "they differ");
    tally.record("bags as the host begins them" + of, here.offsets == there.offsets ? "" : "they differ");
    tally.record("other ids in another call" + of,
                 drawn_there(ids, laws, 6).indices != there.indices ? "" : "they are the same");
    for (std::size_t t = 0; bags > 100 && t < rows.size(); ++t) {
      const std::int64_t end = t + 1 < rows.size() ? ids.tables[t + 1].first : ids.count;
      tally.record(std::string("rows by their law, ") + rows[t].name,
                   law_fault(ids.tables[t], rows[t].access, there, end));
    }
  }
}

}  // namespace shardsim
