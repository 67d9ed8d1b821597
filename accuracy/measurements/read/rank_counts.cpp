#include "accuracy/measurements/read/rank_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardsim {
namespace {

constexpr double kPrinted = 0.005;     // rates are printed to 0.01 GB/s
constexpr double kLeastRate = 0.1;     // GB/s: below this the printed digits tell no ratio
constexpr int kMostCounted = 1 << 20;  // ranks
constexpr double kRatioSlack = 1e-4;   // of the ratio, for rates printed with few digits

bool has_ratio(CollectiveKind kind) {
  return kind != CollectiveKind::broadcast && kind != CollectiveKind::send_recv;
}

// Ranks, exactly, at which the kind has that factor.
double ranks_at(CollectiveKind kind, double ratio) {
  const double top = kind == CollectiveKind::all_reduce ? 2 : 1;
  return ratio < top ? top / (top - ratio) : kMostCounted;
}

using Devices = std::vector<RunDevice>;

std::set<int> groups_of(const Devices& devices) {
  std::set<int> groups;
  for (const RunDevice& device : devices) groups.insert(device.group);
  return groups;
}

// The members of each group on each host. A run without hosts in its lines, but of one process, is on one host.
std::map<int, std::map<std::string, int>> members_by_host(const Devices& devices) {
  std::map<int, std::map<std::string, int>> members;
  for (const RunDevice& device : devices) ++members[device.group][device.host];
  return members;
}

bool names_hosts(const Devices& devices) {
  return std::ranges::none_of(devices, [](const RunDevice& device) { return device.host.empty(); });
}

bool is_one_process(const Devices& devices) {
  return !devices.front().pid.empty() &&
         std::ranges::all_of(devices, [&](const RunDevice& d) { return d.pid == devices.front().pid; });
}

int highest_rank(const Devices& devices) {
  return std::ranges::max_element(devices, {}, &RunDevice::rank)->rank;
}

// True when the lines have every rank from 0 to the highest.
bool is_whole(const Devices& devices) {
  std::set<int> ranks;
  for (const RunDevice& device : devices) ranks.insert(device.rank);
  return *ranks.begin() == 0 && static_cast<int>(ranks.size()) == highest_rank(devices) + 1;
}

// Hosts of equal size that begin at the ranks from which each line's GPU counts; 0 where the lines speak against it.
int host_size_by_numbers(const Devices& devices, int ranks) {
  int size = 0;
  for (const RunDevice& device : devices) size = std::max(size, device.number.value_or(-1) + 1);
  if (size == 0 || ranks % size != 0) return 0;
  std::map<std::string, std::set<int>> begins;  // of the hosts
  for (const RunDevice& device : devices) {
    if (!device.number) return 0;
    const int begin = device.rank - *device.number;
    if (begin < 0 || begin % size != 0) return 0;
    begins[device.host].insert(begin);
  }
  const bool one_each =
      std::ranges::all_of(begins, [](const auto& host) { return host.first.empty() || host.second.size() == 1; });
  return one_each ? size : 0;
}

// Machines of one name list the same GPU once each; so do several ranks on one GPU, which cannot be told from them.
int most_hosts(const Devices& devices) {
  std::map<std::string, std::map<std::pair<int, std::string>, int>> listed;  // by host and GPU
  for (const RunDevice& device : devices)
    if (device.group == devices.front().group) ++listed[device.host][{device.number.value_or(-1), device.bus}];
  int hosts = 0;
  for (const auto& [host, gpus] : listed)
    hosts += std::ranges::max_element(gpus, {}, [](const auto& gpu) { return gpu.second; })->second;
  return hosts;
}

// The most GPUs that the lines of one host name. A name counts as several machines where they list the same GPU.
int least_on_host(const Devices& devices) {
  std::map<std::pair<int, std::string>, std::map<std::pair<int, std::string>, int>>
      listed;  // by group and host, by GPU
  for (const RunDevice& device : devices)
    if (!device.host.empty()) ++listed[{device.group, device.host}][{device.number.value_or(-1), device.bus}];
  int least = 0;
  for (const auto& [host, gpus] : listed) least = std::max(least, static_cast<int>(gpus.size()));
  return least;
}

std::string lines_text(const Devices& devices, bool whole) {
  const std::set<int> groups = groups_of(devices);
  std::set<std::string> hosts;
  for (const RunDevice& device : devices) hosts.insert(device.host);
  std::string text = whole ? fmt::format("{} rank lines", devices.size())
                           : fmt::format("{} rank lines up to rank {}", devices.size(), highest_rank(devices));
  if (names_hosts(devices)) text += fmt::format(" on {} host{}", hosts.size(), hosts.size() == 1 ? "" : "s");
  if (groups.size() > 1) text += fmt::format(" in {} groups", groups.size());
  return text;
}

void count_whole_lines(const Devices& devices, RankCounts& counts) {
  const auto members = members_by_host(devices);
  const auto& first = members.begin()->second;
  int ranks = 0;
  for (const auto& [host, count] : first) ranks += count;
  counts.ranks = ranks;
  counts.groups_at_once = static_cast<int>(members.size());
  for (const auto& [group, hosts] : members) {
    int size = 0;
    for (const auto& [host, count] : hosts) size += count;
    if (size != ranks || hosts.size() != first.size())
      counts.conflict = fmt::format("groups of {} and of {} ranks at once", ranks, size);
  }
  if (!names_hosts(devices)) {
    if (is_one_process(devices) || host_size_by_numbers(devices, ranks) == ranks) counts.hosts = 1;
    if (counts.hosts == 1) counts.gpus_per_host = ranks;
    return;
  }
  const int hosts = static_cast<int>(first.size());
  const auto uneven = std::ranges::find_if(first, [&](const auto& host) { return host.second * hosts != ranks; });
  if (uneven != first.end()) {
    counts.conflict = fmt::format("{} ranks on {} hosts: not the same number on each", ranks, hosts);
    return;
  }
  counts.hosts = hosts;
  counts.gpus_per_host = ranks / hosts;
  counts.most_hosts = most_hosts(devices);
}

void append(std::string& text, const std::string& more) {
  if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
}

// Without any line about ranks. One process with several GPUs has them on one host, and so has each of several.
void count_processes(const RunMethod& method, int by_rates, RankCounts& counts) {
  const int of_process = method.gpus_of_process();
  counts.ranks = by_rates > 0 || !method.is_one_process() ? by_rates : of_process;
  if (of_process < 2) return;
  append(counts.said_by, fmt::format("{} GPUs of each process", of_process));
  counts.gpus_of_process = of_process;
  if (counts.ranks == of_process) {
    counts.hosts = 1;
    counts.gpus_per_host = of_process;
  } else if (counts.ranks % of_process != 0) {
    counts.conflict = "they do not agree";
  }
}

void count_cut_lines(const Devices& devices, int ranks, RankCounts& counts) {
  counts.ranks = ranks;
  const int size = host_size_by_numbers(devices, ranks);
  if (size == 0) return;
  counts.hosts = ranks / size;
  counts.gpus_per_host = size;
}

}  // namespace

void BusRatio::add(double algbw, double busbw) {
  if (algbw < kLeastRate) return;
  const double from = std::max(0.0, busbw - kPrinted) / (algbw + kPrinted) * (1 - kRatioSlack);
  const double to = (busbw + kPrinted) / (algbw - kPrinted) * (1 + kRatioSlack);
  if (!is_known()) {
    from_ = from;
    to_ = to;
  } else if (std::max(from, from_) <= std::min(to, to_)) {  // a row that disagrees with the others is torn
    from_ = std::max(from, from_);
    to_ = std::min(to, to_);
  }
}

bool BusRatio::fits(CollectiveKind kind, int ranks) const {
  const double factor = bus_factor(kind, ranks);
  return !is_known() || (factor >= from_ && factor <= to_);
}

std::optional<int> BusRatio::ranks_of(CollectiveKind kind) const {
  if (!is_known() || !has_ratio(kind) || is_zero()) return std::nullopt;
  const double least = std::ceil(ranks_at(kind, from_) - 1e-9), most = std::floor(ranks_at(kind, to_) + 1e-9);
  if (least != most || most >= kMostCounted) return std::nullopt;
  return static_cast<int>(most);
}

bool BusRatio::fits_kind(CollectiveKind kind) const {
  if (!is_known() || is_zero()) return true;
  if (!has_ratio(kind)) return from_ <= 1 && to_ >= 1;
  const double least = kind == CollectiveKind::all_reduce ? 1 : 0.5;
  return to_ >= least && from_ <= 2 * least;
}

RankCounts count_ranks(const std::vector<RunDevice>& devices, const BusRatio& ratio, CollectiveKind kind,
                       const RunMethod& method) {
  RankCounts counts;
  const std::optional<int> by_rates = ratio.ranks_of(kind);
  const std::string rates = ratio.is_known() && has_ratio(kind)
                                ? fmt::format("busbw / algbw = {:.4g}{}", ratio.middle(),
                                              by_rates ? fmt::format(", which {} ranks have", *by_rates) : "")
                                : "";
  if (devices.empty()) {
    if (by_rates) counts.said_by = rates;
    count_processes(method, by_rates.value_or(0), counts);
    return counts;
  }
  const bool seems_whole = is_whole(devices);
  const int listed = seems_whole && groups_of(devices).size() > 1
                         ? static_cast<int>(devices.size() / groups_of(devices).size())
                         : highest_rank(devices) + 1;
  // Lines cut at the end look whole: then the rates know of more ranks.
  const bool cut = !seems_whole || (by_rates && *by_rates > listed);
  append(counts.said_by, lines_text(devices, !cut));
  append(counts.said_by, rates);
  counts.least_on_host = least_on_host(devices);
  if (!cut) {
    count_whole_lines(devices, counts);
  } else if (groups_of(devices).size() > 1) {
    counts.ranks = by_rates.value_or(0);  // of which group the cut lines are, nobody knows
  } else {
    count_cut_lines(devices, std::max(listed, by_rates.value_or(0)), counts);
  }
  if (counts.conflict.empty() && counts.ranks > 1 && !ratio.is_zero() && !ratio.fits(kind, counts.ranks))
    counts.conflict = "they do not agree";
  return counts;
}

}  // namespace shardsim
