#include "study/notes/alike_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace shardsim {
namespace {

std::string network_name(const std::string& transport) {
  static const std::map<std::string, std::string> kNames = {{"infiniband", "InfiniBand"}, {"roce", "RoCE"}};
  const auto known = kNames.find(transport);
  return known == kNames.end() ? transport : known->second;
}

std::string sentence(const TimeOnCluster& first, const TimeOnCluster& second) {
  const std::string networks =
      first.transport == second.transport
          ? "nothing in which they differ has a time of its own in the model"
          : fmt::format("the model times {} and {} with the same constants and nothing else tells them apart",
                        network_name(first.transport), network_name(second.transport));
  return fmt::format(
      "Not told apart: '{}' and '{}' come out alike to the last digit, for {}. Which of them is really faster is not "
      "known.",
      first.cluster, second.cluster, networks);
}

}  // namespace

std::vector<std::string> alike_clusters(const std::vector<TimeOnCluster>& times) {
  std::map<std::pair<std::string, double>, std::vector<const TimeOnCluster*>> equal;
  std::set<std::pair<std::string, std::string>> said;
  std::vector<std::string> sentences;
  for (const TimeOnCluster& time : times) {
    std::vector<const TimeOnCluster*>& others = equal[{time.asked, time.ms}];
    const auto known = std::ranges::find(others, time.cluster, &TimeOnCluster::cluster);
    if (known != others.end()) continue;
    for (const TimeOnCluster* const other : others)
      if (said.insert(std::minmax(other->cluster, time.cluster)).second) sentences.push_back(sentence(*other, time));
    others.push_back(&time);
  }
  return sentences;
}

}  // namespace shardsim
