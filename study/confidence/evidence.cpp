#include "study/confidence/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "models/collective/fitted_overheads.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostKeys = 2;     // that a sentence quotes
constexpr std::size_t kMostSystems = 4;  // that are named; more are rows of one system, which the source names
constexpr std::size_t kMostNamed = 3;    // clusters in a short sentence

// The fitted constants of collectives that count on the cluster, by key.
std::map<std::string, const SourcedValue*> constants_of(const ComparedCluster& cluster) {
  std::map<std::string, const SourcedValue*> constants;
  for (const SourcedValue& value : cluster.fitted) {
    const bool across = value.path.find(".across_nodes.") != std::string::npos;
    if (value.path.starts_with("overheads.") && (!across || cluster.several_nodes)) constants[value.path] = &value;
  }
  return constants;
}

// What a constant of collectives is, by the last word of its key.
constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
    {"channel_rate", "the rate of one of NCCL's channels in {}"},
    {"efficiency", "the share of its bandwidth that {} reaches"},
    {"fill", "what the pipeline of {} loses for each chunk"},
    {"latency_share", "the share of NCCL's latency that {} shows"},
    {"nic_efficiency", "the share of a NIC's rate that {} reaches"},
    {"nic_rate", "the most that a NIC carries of {}"},
    {"nvls_fill", "what the pipeline of {} loses for each chunk where it runs NVLS"},
    {"per_remote_peer", "what {} takes longer for each GPU of another node"},
    {"start", "the time of {} before bytes move"}};

// "the share of a NIC's rate that all-to-all across nodes reaches", of
// overheads.all_to_all.across_nodes.nic_efficiency; the key where it is none of these.
std::string meaning_of(const std::string& path) {
  const std::vector<std::string> keys = split(path, '.');
  const auto known = std::ranges::find(kMeanings, keys.back(), [](const auto& each) { return each.first; });
  if (keys.size() != 4 || known == std::end(kMeanings)) return path;
  std::string kind = keys[1];
  std::ranges::replace(kind, '_', '-');
  return fmt::format(fmt::runtime(known->second),
                     fmt::format("{} {}", kind, keys[2] == "across_nodes" ? "across nodes" : "in a node"));
}

std::string words_of(const SourcedValue* value) {
  if (value == nullptr) return "the usual value";
  const bool few = !value->fitted_on.empty() && value->fitted_on.size() <= kMostSystems;
  return fmt::format("{} from {}", value->value, few ? join(value->fitted_on) : value->source);
}

// Returns the constants that were measured for both, or for one of them; constants that both have from the same
// measurements are alike.
std::vector<std::string> unlike_constants(const ComparedCluster& first, const ComparedCluster& second) {
  const auto of_first = constants_of(first), of_second = constants_of(second);
  std::vector<std::string> texts;
  const auto add = [&](const std::string& key, const SourcedValue* a, const SourcedValue* b) {
    if (a && b && (a->value == b->value || a->fitted_on == b->fitted_on)) return;
    texts.push_back(fmt::format("{}: {}, and {}", meaning_of(key), words_of(a), words_of(b)));
  };
  for (const auto& [key, value] : of_first) add(key, value, of_second.contains(key) ? of_second.at(key) : nullptr);
  for (const auto& [key, value] : of_second)
    if (!of_first.contains(key)) add(key, nullptr, value);
  return texts;
}

// Fits that the file asks for can be left out of the comparison; what it states itself cannot.
bool is_of_shipped_fit(const ComparedCluster& cluster) {
  const auto constants = constants_of(cluster);
  return std::ranges::all_of(
      constants, [](const auto& constant) { return constant.second->source.starts_with(open_data_fits().source); });
}

// Clusters with the same constants, by the first of them.
struct Kind {
  const ComparedCluster* first = nullptr;
  std::vector<std::string> names;
};

// No two of them alike.
std::vector<Kind> kinds_of(const std::vector<ComparedCluster>& clusters) {
  std::vector<Kind> kinds;
  for (const ComparedCluster& cluster : clusters) {
    const auto alike = std::ranges::find_if(kinds, [&](const Kind& known) {
      return known.first->several_nodes == cluster.several_nodes && unlike_constants(*known.first, cluster).empty();
    });
    if (alike == kinds.end()) {
      kinds.push_back({&cluster, {cluster.name}});
    } else if (std::ranges::find(alike->names, cluster.name) == alike->names.end()) {
      alike->names.push_back(cluster.name);
    }
  }
  return kinds;
}

// Likewise of two kinds. A cluster of one node has other collectives than one of several, so the two have none.
std::vector<std::string> unlike_constants(const Kind& first, const Kind& second) {
  if (first.first->several_nodes != second.first->several_nodes) return {};
  return unlike_constants(*first.first, *second.first);
}

std::string names_of(const Kind& kind) {
  std::vector<std::string> quoted;
  for (const std::string& name : kind.names) quoted.push_back("'" + name + "'");
  return join(quoted, " or ");
}

std::string sentence(const Kind& first, const Kind& second, std::vector<std::string> constants,
                     std::string_view without_fits) {
  const std::size_t all = constants.size();
  constants.resize(std::min(all, kMostKeys));
  const std::string more = all > kMostKeys ? fmt::format("; and {} more", all - kMostKeys) : "";
  return fmt::format(
      "Not measured alike: how long exchanges take on {} and on {} comes from measurements of different machines "
      "({}{}). "
      "Which of the two is faster may come of that; {}.",
      names_of(first), names_of(second), join(constants, "; "), more,
      is_of_shipped_fit(*first.first) && is_of_shipped_fit(*second.first)
          ? fmt::format("{} compares them without", without_fits)
          : "calibrate both to compare them by measurements of your own");
}

}  // namespace

std::vector<std::string> unlike_evidence(const std::vector<ComparedCluster>& clusters, std::string_view without_fits) {
  const std::vector<Kind> kinds = kinds_of(clusters);
  std::vector<std::string> sentences;
  for (auto second = kinds.begin(); second != kinds.end(); ++second)
    for (auto first = kinds.begin(); first != second; ++first)
      if (auto constants = unlike_constants(*first, *second); !constants.empty())
        sentences.push_back(sentence(*first, *second, std::move(constants), without_fits));
  return sentences;
}

std::string unlike_evidence_in_short(const std::vector<ComparedCluster>& clusters) {
  const std::vector<Kind> kinds = kinds_of(clusters);
  std::vector<std::string> named;  // one of each kind that is unlike another one
  for (const Kind& kind : kinds) {
    const auto is_unlike = [&](const Kind& other) { return &other != &kind && !unlike_constants(kind, other).empty(); };
    if (std::ranges::any_of(kinds, is_unlike)) named.push_back(kind.names.front());
  }
  if (named.empty()) return "";
  return fmt::format(
      "Not measured alike: how long exchanges take on {} comes from measurements of different machines, and which is "
      "faster may come of that.",
      first_names(named, kMostNamed));
}

}  // namespace shardsim
