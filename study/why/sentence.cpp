#include "study/why/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/document/cells.h"
#include "base/text.h"
#include "models/collective/collective.h"
#include "sim/engine/op_work.h"
#include "sim/engine/store_time.h"

namespace shardsim {
namespace {

constexpr double kTellingPart = 0.08;     // of the iteration: what is worth a second clause
constexpr double kTellingWaiting = 0.03;  // of the iteration
constexpr double kFilled = 0.8;           // of a link's rate: collectives at more are limited by it and what it loses
constexpr double kMostlyOne = 0.6;        // of the work: one table's, and the others are not named

// Returns the purpose of a step, in the words of somebody who does not know its name.
std::string purpose_of(const Op& op) {
  if (const std::string_view purpose = op_role_purpose(op.role); !purpose.empty()) return std::string(purpose);
  if (op.op_class == OpClass::host) return "the host, which launches the work of the GPU";
  if (op.is_collective()) return fmt::format("the {}", op_class_name(op.op_class));
  return "putting ids and vectors in order";
}

// What bytes go over, and how much of it the collectives' own algorithms take.
struct Way {
  double seconds = 0;
  double drawn = 0;  // seconds times PathStep::drawn
};

// One kind of work on the path, and what it is for.
struct Clause {
  double seconds = 0;
  std::map<int, double> tables;
  std::map<std::string, Way> over;

  void add(const std::string& way, const PathStep& step) {
    over[way].seconds += step.seconds;
    over[way].drawn += step.seconds * step.drawn;
  }
};

std::string tables_text(const std::map<int, double>& tables, const Program& program) {
  if (tables.empty()) return "";
  const auto most = std::ranges::max_element(tables, {}, [](const auto& each) { return each.second; });
  double all = 0;
  for (const auto& [table, seconds] : tables) all += seconds;
  const std::string name = "table " + printable(program.tables[static_cast<std::size_t>(most->first)].name);
  if (tables.size() == 1) return " of " + name;
  const std::string count = counted(tables.size(), "table");
  return most->second >= kMostlyOne * all ? fmt::format(" of {}, mostly {}", count, name) : " of " + count;
}

// A link that the algorithm does not fill is not what limits: a faster one of it brings nothing.
std::string limit_text(const Way& way) {
  const double drawn = way.drawn / way.seconds;
  if (drawn >= kFilled) return "";
  return fmt::format(" (limited by NCCL's channels, which fill {:.0f} % of the link)", 100 * drawn);
}

std::string clause_text(const std::string& purpose, const Clause& clause, const Program& program) {
  const auto over = std::ranges::max_element(clause.over, {}, [](const auto& each) { return each.second.seconds; });
  const std::string way = over == clause.over.end() ? "" : " over " + over->first + limit_text(over->second);
  return purpose + tables_text(clause.tables, program) + way;
}

std::vector<std::pair<std::string, Clause>> clauses_of(const Program& program, const Cluster& cluster,
                                                       const CriticalPath& path, TableShares& shares) {
  std::vector<std::pair<std::string, Clause>> clauses;
  for (const PathStep& step : path.steps) {
    if (step.op < 0) continue;
    const std::string purpose = purpose_of(program.op(step.op));
    auto clause = std::ranges::find(clauses, purpose, &std::pair<std::string, Clause>::first);
    if (clause == clauses.end()) clause = clauses.insert(clauses.end(), {purpose, {}});
    clause->second.seconds += step.seconds;
    for (const auto& [table, share] : shares.of(step.op, step.rank))
      clause->second.tables[table] += share * step.seconds;
    if (const std::string way = host_way_of(step, program, cluster); !way.empty()) clause->second.add(way, step);
    if (step.link < 0) continue;
    const LinkKind kind = cluster.links()[static_cast<std::size_t>(step.link)].kind;
    const std::string_view op_class = op_class_name(program.op(step.op).op_class);
    clause->second.add(std::string(medium_of(kind, op_class, cluster)), step);
  }
  std::ranges::stable_sort(clauses, std::greater{}, [](const auto& each) { return each.second.seconds; });
  return clauses;
}

std::string waiting_text(const Why& why) {
  const CollectivePart* const most = longest_waiting(why);
  if (most == nullptr) return "";
  const int places = decimals_for(why.iteration_ms);
  const std::string waiting = fixed(most->waiting_ms, places), for_rank = fixed(most->waited_ms, places);
  const std::string others = waiting == for_rank ? "" : fmt::format("others, {} ms of that for ", for_rank);
  return fmt::format("; in {} ms of it the mean rank waits for {}{}", waiting, others, waited_rank_text(*most));
}

}  // namespace

const CollectivePart* longest_waiting(const Why& why) {
  const auto most = std::ranges::max_element(why.collectives, {}, &CollectivePart::waiting_ms);
  const bool tells =
      most != why.collectives.end() && most->rank >= 0 && most->waiting_ms >= kTellingWaiting * why.iteration_ms;
  return tells ? &*most : nullptr;
}

std::string waited_rank_text(const CollectivePart& part) {
  const std::string table = part.table.empty() ? "" : fmt::format(" (mostly table {})", printable(part.table));
  const std::string_view before = part.waited_on == part.operation ? "the previous " : "";  // calls share their name
  const std::string busy = part.waited_on.empty()
                               ? "arrives last"
                               : fmt::format("is longest in {}{}{}", before, printable(part.waited_on), table);
  return fmt::format("rank {}, which {}", part.rank, busy);
}

std::string_view medium_of(LinkKind kind, std::string_view op_class, const Cluster& cluster) {
  switch (kind) {
    case LinkKind::nvlink_out:
    case LinkKind::nvlink_in:
    case LinkKind::nvlink_mesh:
      return "NVLink";
    case LinkKind::pcie_out:
    case LinkKind::pcie_in:
    case LinkKind::pcie_trunk:
      return "PCIe";
    case LinkKind::nic_out:
    case LinkKind::nic_in:
      return slots_limit_nics(op_class, cluster) ? "the PCIe slots of the NICs" : "the NICs";
    case LinkKind::leaf_up:
    case LinkKind::leaf_down:
      return "the spine of the fabric";
  }
  return "";
}

std::string_view host_link_name(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  const bool is_pcie = !spec.host.gpu_link_bandwidth || *spec.host.gpu_link_bandwidth == pcie_rate(spec.pcie);
  return is_pcie ? "the host link (PCIe)" : "the host link";
}

std::string host_way_of(const PathStep& step, const Program& program, const Cluster& cluster) {
  if (step.op < 0 || step.rank < 0 || step.kind != PathStep::Kind::work) return "";
  const Op& op = program.op(step.op);
  const auto at = static_cast<std::size_t>(
      op.ranks.empty() ? step.rank : std::ranges::find(op.ranks, step.rank) - op.ranks.begin());
  if (moves_stored_rows(op.role))
    return waits_for_ssd(op, at, cluster.spec()) ? "the SSDs of its node" : "the memory of its node";
  if (op.host_bytes.values.empty()) return "";
  constexpr double kMost = 0.5;  // of its time
  const bool most = host_link_time(op, at, cluster.spec()).value > kMost * step.seconds;
  return most ? std::string(host_link_name(cluster)) : "";
}

std::string why_sentence(const Why& why, const Program& program, const Cluster& cluster, const CriticalPath& path,
                         TableShares& shares) {
  const int places = decimals_for(why.iteration_ms);
  std::string text = fmt::format("The iteration takes {} ms", fixed(why.iteration_ms, places));
  const auto clauses = clauses_of(program, cluster, path, shares);
  const double all = why.iteration_ms * 1e-3;
  if (clauses.empty() || all <= 0) return text + ".";
  const auto& [purpose, first] = clauses.front();
  constexpr double kAll = 0.995;
  if (first.seconds >= kAll * all) {
    const bool is_host = purpose.starts_with("the host,");
    return text + "; all of it is " + clause_text(purpose, first, program) +
           (is_host ? ", which works beside it or waits" : "") + waiting_text(why) + ".";
  }
  text += fmt::format("; {} ms of it ({} %) is {}", fixed(first.seconds * 1e3, places),
                      fixed(100 * first.seconds / all, 0), clause_text(purpose, first, program));
  if (clauses.size() > 1 && clauses[1].second.seconds >= kTellingPart * all) {
    const auto& [next_purpose, next] = clauses[1];
    text += fmt::format(", and {} ms ({} %) {}", fixed(next.seconds * 1e3, places), fixed(100 * next.seconds / all, 0),
                        clause_text(next_purpose, next, program));
  }
  return text + waiting_text(why) + ".";
}

}  // namespace shardsim
