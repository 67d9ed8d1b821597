#include "validate/microbench/sweep_journal.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

// Returns what `read` makes of the line; whatever it misses there makes it no line of this measurement.
template <typename Read>
auto read_line(const Journal::Line& line, const Read& read) {
  try {
    return read(Json::parse(line.text));
  } catch (const Json::exception&) {
    throw no_line_of(line);
  }
}

CacheState cache_state_of(const std::string& name, const Journal::Line& line) {
  for (const CacheState state : {CacheState::warm, CacheState::rotated, CacheState::flushed})
    if (name == cache_state_name(state)) return state;
  throw no_line_of(line);
}

MeasuredPoint visit_of(const Json& json, const BenchPoint& point, const Journal::Line& line) {
  MeasuredPoint visit;
  visit.point = point;
  visit.rotation = {cache_state_of(json.at("cache_state"), line), json.at("copies")};
  visit.calls = json.at("calls");
  visit.samples_us = json.at("samples_us").get<std::vector<double>>();
  visit.distinct = json.at("distinct_rows").get<std::vector<std::int64_t>>();
  visit.access_histogram = json.at("access_histogram").get<std::vector<double>>();
  const bool timed =
      !visit.samples_us.empty() && std::ranges::all_of(visit.samples_us, [](double us) { return us >= 0; });
  if (json.at("op") != bench_op_name(point.op) || visit.distinct.size() != point.tables.size() || !timed ||
      visit.calls < 1)
    throw no_line_of(line);
  return visit;
}

}  // namespace

SweepJournal::SweepJournal(const std::filesystem::path& output, const std::string& what) : journal_(output, what) {
  if (journal_.lines().empty()) return;
  const Journal::Line& first = journal_.lines().front();
  read_line(first, [&](const Json& json) {
    memory_ = json.at("memory_bytes");
    limits_ = {json.at("copy_bytes_per_s"), json.at("cache_read_bytes_per_s"), json.at("launch_floor_us")};
    if (memory_ <= 0) throw no_line_of(first);
    return 0;
  });
}

std::int64_t SweepJournal::memory(std::int64_t now) {
  if (memory_ == 0) memory_ = now;
  return memory_;
}

MeasuredBefore SweepJournal::before(std::span<const BenchPoint> points) const {
  MeasuredBefore before;
  if (journal_.lines().empty()) return before;
  before.limits = limits_;
  for (std::size_t i = 1; i < journal_.lines().size(); ++i) {
    const Journal::Line& line = journal_.lines()[i];
    read_line(line, [&](const Json& json) {
      const int round = json.at("round");
      const std::size_t point = json.at("point");
      if (round < 0 || point >= points.size()) throw no_line_of(line);
      return before.visits.try_emplace({round, point}, visit_of(json, points[point], line)).second;
    });
  }
  return before;
}

void SweepJournal::begun(const DeviceLimits& limits) {
  limits_ = limits;
}

void SweepJournal::measured(int round, std::size_t point, const MeasuredPoint& visit) {
  const Json first{{"memory_bytes", memory_},
                   {"copy_bytes_per_s", limits_.copy_bandwidth},
                   {"cache_read_bytes_per_s", limits_.cache_bandwidth},
                   {"launch_floor_us", limits_.launch_floor_us}};
  const Json line{{"round", round},
                  {"point", point},
                  {"op", bench_op_name(visit.point.op)},
                  {"cache_state", cache_state_name(visit.rotation.state)},
                  {"copies", visit.rotation.copies},
                  {"calls", visit.calls},
                  {"samples_us", visit.samples_us},
                  {"distinct_rows", visit.distinct},
                  {"access_histogram", visit.access_histogram}};
  journal_.add(journal_.empty() ? first.dump() + "\n" + line.dump() : line.dump());
}

}  // namespace shardsim
