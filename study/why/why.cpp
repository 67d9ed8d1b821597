#include "study/why/why.h"

#include <algorithm>
#include <map>

#include "program/timeline/timeline.h"
#include "study/why/sentence.h"
#include "study/why/table_shares.h"

namespace shardsim {
namespace {

constexpr double kMs = 1e3;

std::string name_of(const Program& program, const PathStep& step) {
  if (step.op >= 0) return program.op(step.op).name;
  return step.kind == PathStep::Kind::held ? "held until an iteration ends" : "difference from the iteration before";
}

// Sums of one part by what they are to be told by: the key of the largest is told.
struct PartTold {
  std::map<int, double> by_rank, by_link, by_other;
  std::map<std::string, double> over_host;  // the link to it, and what rows come from there
};

int largest(const std::map<int, double>& sums) {
  const auto most = std::ranges::max_element(sums, {}, [](const auto& each) { return each.second; });
  return most == sums.end() ? -1 : most->first;
}

std::vector<PathPart> parts_of(const Program& program, const Cluster& cluster, const CriticalPath& path) {
  std::vector<PathPart> parts;
  std::vector<PartTold> told;
  std::map<std::string, std::size_t> place;
  for (const PathStep& step : path.steps) {
    const auto [entry, added] = place.try_emplace(name_of(program, step), parts.size());
    if (added) {
      parts.push_back({entry->first, step.op < 0 ? "" : std::string(op_class_name(program.op(step.op).op_class))});
      told.emplace_back();
    }
    PathPart& part = parts[entry->second];
    PartTold& of = told[entry->second];
    part.ms += step.seconds * kMs;
    part.slowed_ms += step.slowed * kMs;
    if (step.kind == PathStep::Kind::start) part.start_ms += step.seconds * kMs;
    if (step.kind == PathStep::Kind::transfer) part.transfer_ms += step.seconds * kMs;
    if (step.rank >= 0) of.by_rank[step.rank] += step.seconds;
    if (step.link >= 0) of.by_link[step.link] += step.seconds;
    if (const std::string way = host_way_of(step, program, cluster); !way.empty())
      of.over_host[way] += step.seconds * kMs;
    if (step.beside >= 0) of.by_other[step.beside] += step.slowed;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].rank = largest(told[i].by_rank);
    if (const int link = largest(told[i].by_link); link >= 0) {
      parts[i].over = medium_of(cluster.links()[static_cast<std::size_t>(link)].kind, parts[i].op_class, cluster);
      parts[i].link = cluster.link_name(link);
    }
    for (const auto& [way, ms] : told[i].over_host)
      if (2 * ms > parts[i].ms) parts[i].over = way;
    if (const int other = largest(told[i].by_other); other >= 0) parts[i].beside = program.op(other).name;
  }
  return parts;
}

// True when rows are in host memory or come from there; every iteration copies a batch from it.
bool moves_rows_over_host_link(const Program& program) {
  return std::ranges::any_of(program.ops, [](const Op& op) {
    return op.role != OpRole::copy_inputs && std::ranges::max(op.host_bytes.values) > 0;
  });
}

bool reads_ssd(const Program& program) {
  return std::ranges::any_of(program.ops, [](const Op& op) { return std::ranges::max(op.ssd_bytes.values) > 0; });
}

std::vector<TablePart> tables_of(const Program& program, const CriticalPath& path, TableShares& shares) {
  std::map<int, TablePart> by_table;
  for (const PathStep& step : path.steps) {
    if (step.op < 0) continue;
    const Op& op = program.op(step.op);
    for (const auto& [table, share] : shares.of(step.op, step.rank)) {
      TablePart& part = by_table[table];
      const double ms = share * step.seconds * kMs;
      part.ms += ms;
      (op.is_collective()               ? part.exchange_ms
       : op.op_class == OpClass::lookup ? part.lookup_ms
       : op.op_class == OpClass::update ? part.update_ms
                                        : part.other_ms) += ms;
    }
  }
  std::vector<TablePart> parts;
  for (auto& [table, part] : by_table) {
    part.table = program.tables[static_cast<std::size_t>(table)].name;
    if (part.ms > 0) parts.push_back(part);
  }
  std::ranges::stable_sort(parts, std::greater{}, &TablePart::ms);
  return parts;
}

// The table that the operation that kept a rank is mostly for. Of several operations of one name each has its tables.
std::string main_table(const Program& program, const NamedTime::WaitedFor& whom, TableShares& shares) {
  if (whom.rank < 0 || whom.op < 0) return "";
  const TableShares::Shares parts = shares.of_own(whom.op, whom.rank);
  const auto most = std::ranges::max_element(parts, {}, [](const auto& each) { return each.second; });
  return most == parts.end() ? "" : program.tables[static_cast<std::size_t>(most->first)].name;
}

std::vector<CollectivePart> collectives_of(const Program& program, const std::vector<PathPart>& parts,
                                           const std::vector<NamedTime>& times, TableShares& shares) {
  std::vector<CollectivePart> collectives;
  for (const NamedTime& time : times) {
    if (!is_communication(time.op_class)) continue;
    CollectivePart part{time.name, 0, time.transfer_ms(), time.waiting_ms};
    const auto on_path = std::ranges::find(parts, time.name, &PathPart::operation);
    if (on_path != parts.end()) part.path_ms = on_path->ms;
    if (time.waiting_ms > 0) {
      part.rank = time.waited_for.rank;
      part.waited_on = time.waited_for.operation;
      part.waited_ms = time.waited_for.ms;
      part.table = main_table(program, time.waited_for, shares);
    }
    collectives.push_back(std::move(part));
  }
  return collectives;
}

std::vector<SlackPart> slack_of(const Program& program, const CriticalPath& path, const std::vector<PathPart>& parts) {
  std::vector<SlackPart> slack;
  std::map<std::string, std::size_t> place;
  for (std::size_t op = 0; op < path.slack.size(); ++op) {
    const std::string& name = program.ops[op].name;
    if (path.slack[op].rank < 0 || std::ranges::find(parts, name, &PathPart::operation) != parts.end()) continue;
    const SlackPart part{name, std::string(op_class_name(program.ops[op].op_class)), path.slack[op].seconds * kMs,
                         path.slack[op].rank};
    const auto [entry, added] = place.try_emplace(name, slack.size());
    if (added) {
      slack.push_back(part);
    } else if (part.slack_ms < slack[entry->second].slack_ms) {
      slack[entry->second] = part;
    }
  }
  std::ranges::stable_sort(slack, {}, &SlackPart::slack_ms);
  return slack;
}

}  // namespace

double Why::sum_ms() const {
  double sum = 0;
  for (const PathPart& part : parts) sum += part.ms;
  return sum;
}

Why why_of(const Program& program, const Cluster& cluster, const CriticalPath& path,
           const std::vector<NamedTime>& times) {
  TableShares shares(program);
  Why why;
  why.iteration_ms = path.seconds * kMs;
  why.repeats = path.repeats;
  why.parts = parts_of(program, cluster, path);
  why.tables = tables_of(program, path, shares);
  why.collectives = collectives_of(program, why.parts, times, shares);
  why.slack = slack_of(program, path, why.parts);
  why.uses_host_link = moves_rows_over_host_link(program) ||
                       std::ranges::find(why.parts, host_link_name(cluster), &PathPart::over) != why.parts.end();
  why.uses_ssd = reads_ssd(program);
  why.sentence = why_sentence(why, program, cluster, path, shares);
  return why;
}

}  // namespace shardsim
