#include "validate/execute/run/observed_timeline.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/statistics.h"
#include "base/text.h"
#include "program/timeline/traffic.h"
#include "validate/execute/devices/machine_facts.h"

namespace shardsim {
namespace {

Timeline::OpInfo op_info(const Op& op) {
  Timeline::OpInfo info;
  info.name = op.name;
  info.op_class = op_class_name(op.op_class);
  info.group = op.group;
  info.dtype = op.dtype;
  return info;
}

// [op][rank] as Span::bytes has it.
std::vector<std::vector<std::int64_t>> span_bytes(const Program& program) {
  std::vector<std::vector<std::int64_t>> bytes(program.ops.size());
  for (const Op& op : program.ops) {
    bytes[op.id].assign(program.world_size, 0);
    if (!op.is_collective()) continue;
    ByteMatrix matrix = op.matrix.empty() ? ByteMatrix{} : resolve_matrix(program, op.matrix);
    const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const std::vector<int>& group = sets[set];
      if (op.matrix.per_set) matrix = resolve_matrix(program, op.matrix, set);
      const auto of_members = payloads(op, matrix, op.bytes_of_set(set), static_cast<int>(group.size()));
      for (std::size_t member = 0; member < group.size(); ++member) bytes[op.id][group[member]] = of_members[member];
    }
  }
  return bytes;
}

constexpr const char* kNotHeardOf = "unknown";  // the host of a node whose ranks sent no report

// Every rank on every node speaks for its host; ranks of one node speak alike.
void add_facts(Timeline& timeline, const std::vector<RankReport>& reports) {
  const int nodes = (timeline.world_size + timeline.ranks_per_node - 1) / timeline.ranks_per_node;
  timeline.measured.hosts.assign(nodes, kNotHeardOf);
  timeline.hbm_bytes.assign(timeline.world_size, 0);
  std::vector<std::string> more;
  for (int rank = 0; rank < timeline.world_size; ++rank) {
    const RankReport& report = reports[rank];
    timeline.hbm_bytes[rank] = report.peak_bytes;
    more.push_back(report.facts.more);
    if (report.host.empty()) continue;
    if (timeline.measured.device.empty()) {
      const std::vector<std::string> hosts = std::move(timeline.measured.hosts);
      timeline.measured = report.facts;
      timeline.measured.hosts = hosts;
      timeline.measured.clock_drift_us = 0;
    }
    timeline.measured.clock_drift_us = std::max(timeline.measured.clock_drift_us, report.facts.clock_drift_us);
    timeline.measured.hosts[rank / timeline.ranks_per_node] = report.host;
    timeline.measured.clock_residual_us = std::max(timeline.measured.clock_residual_us, report.clock_residual_us);
  }
  timeline.measured.more = merged_facts(more);
}

// Adds the bytes that the ranks counted, a mean over the iterations. Each byte sent is one received.
void add_counted(Timeline& timeline, const std::vector<RankReport>& reports) {
  const auto world = static_cast<std::size_t>(timeline.world_size);
  const auto silent = [&](const RankReport& report) { return report.sent.size() != world; };
  if (!timeline.complete || timeline.iterations_run == 0 || std::ranges::any_of(reports, silent)) return;
  timeline.bytes_out.assign(world, 0);
  timeline.bytes_in.assign(world, 0);
  for (std::size_t from = 0; from < world; ++from) {
    for (std::size_t to = 0; to < world; ++to) {
      const std::int64_t mean = reports[from].sent[to] / timeline.iterations_run;
      timeline.bytes_out[from] += mean;
      timeline.bytes_in[to] += mean;
      if (!timeline.flow.empty()) timeline.flow[from * world + to] = mean;
    }
  }
}

}  // namespace

// One line a fact, then the spans as this kind of machine holds them.
std::string RankReport::to_text() const {
  std::string text =
      std::to_string(peak_bytes) + '\n' + shortest(clock_residual_us) + '\n' + shortest(facts.clock_drift_us) + '\n';
  for (const std::int64_t bytes : sent) text += std::to_string(bytes) + ' ';
  text += '\n';
  for (const std::string* fact :
       {&host, &facts.device, &facts.driver, &facts.cuda, &facts.nccl, &facts.transport, &facts.more}) {
    text += printable(*fact) + '\n';
  }
  text.append(reinterpret_cast<const char*>(spans.data()), spans.size() * sizeof(Span));
  return text;
}

RankReport RankReport::from_text(const std::string& text) {
  std::size_t at = 0;
  const auto line = [&] {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) throw run_error("a rank sent a broken report", "Do all ranks run the same build?");
    const std::string fact = text.substr(at, end - at);
    at = end + 1;
    return fact;
  };
  RankReport report;
  report.peak_bytes = std::stoll(line());
  report.clock_residual_us = std::stod(line());
  report.facts.clock_drift_us = std::stod(line());
  std::istringstream counted(line());
  report.sent.assign(std::istream_iterator<std::int64_t>(counted), {});
  report.host = line();
  for (std::string* fact : {&report.facts.device, &report.facts.driver, &report.facts.cuda, &report.facts.nccl,
                            &report.facts.transport, &report.facts.more}) {
    *fact = line();
  }
  report.spans.resize((text.size() - at) / sizeof(Span));
  std::memcpy(report.spans.data(), text.data() + at, report.spans.size() * sizeof(Span));
  return report;
}

Timeline observed_timeline(const IterationPrograms& programs, const std::vector<RankReport>& reports, Pace pace,
                           bool complete) {
  const Program& program = programs.first();
  Timeline timeline;
  timeline.kind = "observed";
  timeline.complete = complete;
  timeline.world_size = program.world_size;
  timeline.ranks_per_node = program.ranks_per_node;
  timeline.streams = program.streams;
  timeline.groups = program.groups;
  for (const Op& op : program.ops) timeline.ops.push_back(op_info(op));
  std::vector<std::vector<std::vector<std::int64_t>>> bytes;  // [Program]
  for (std::size_t turn = 0; turn < programs.size(); ++turn) bytes.push_back(span_bytes(programs[turn]));
  for (const RankReport& report : reports) {
    for (Span span : report.spans) {
      span.bytes = bytes[programs.turn(span.iteration)][span.op][span.rank];
      timeline.spans.push_back(span);
    }
  }
  sort_spans(timeline);
  if (!timeline.spans.empty()) {
    const double origin = timeline.spans.front().start_us;
    for (Span& span : timeline.spans) span.start_us -= origin, span.end_us -= origin;
  }
  add_facts(timeline, reports);
  add_traffic(timeline, program);
  const std::vector<double> times = iteration_times_us(timeline, pace);
  timeline.iteration_ms = median(times) / 1e3;
  timeline.iterations_run = static_cast<int>(times.size());
  add_counted(timeline, reports);
  return timeline;
}

std::vector<double> iteration_times_us(const Timeline& timeline, Pace pace) {
  std::map<int, std::pair<double, double>> bounds;  // of each iteration
  for (const Span& span : timeline.spans) {
    const auto [entry, added] = bounds.try_emplace(span.iteration, span.start_us, span.end_us);
    entry->second.first = std::min(entry->second.first, span.start_us);
    entry->second.second = std::max(entry->second.second, span.end_us);
  }
  std::vector<double> times;
  double before = bounds.empty() ? 0 : bounds.begin()->second.first;
  for (const auto& [iteration, bound] : bounds) {
    times.push_back(bound.second - (pace == Pace::apart ? bound.first : before));
    before = bound.second;
  }
  return times;
}

}  // namespace shardsim
