#include "study/report/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document/cells.h"
#include "base/text.h"

namespace shardsim {
namespace {

// An end of an interval.
std::string rough(double ms) {
  if (ms >= 10) return fmt::format("{:.0f}", ms);
  return ms >= 1 ? fmt::format("{:.1f}", ms) : fmt::format("{:.2g}", ms);
}

// "7" of "nic7"; "" where the text is not the word and a number.
std::string number_after(const std::string& word, const std::string& text) {
  if (!text.starts_with(word) || text.size() == word.size()) return "";
  const std::string number = text.substr(word.size());
  return std::ranges::all_of(number, [](char each) { return each >= '0' && each <= '9'; }) ? number : "";
}

// A port of a node: of a NIC, or of a GPU to NVLink or PCIe.
std::string port_in_words(const std::string& node, const std::string& unit, const std::string& end, bool brief) {
  const std::string nic = number_after("nic", unit), gpu = number_after("gpu", unit);
  const bool receives = end == "in" || end.ends_with("_in");
  if (!receives && end != "out" && !end.ends_with("_out")) return "";
  const char* const way = receives ? "receiving" : "sending";
  if (!nic.empty())
    return brief ? fmt::format("node {} NIC {} {}", node, nic, receives ? "in" : "out")
                 : fmt::format("NIC {} of node {}, {}", nic, node, way);
  if (gpu.empty()) return "";
  const char* const medium = end.starts_with("nvlink") ? "NVLink" : "PCIe";
  return brief ? fmt::format("node {} GPU {} {} {}", node, gpu, medium, receives ? "in" : "out")
               : fmt::format("{} of GPU {} of node {}, {}", medium, gpu, node, way);
}

// "0-3" between GPUs of a mesh, "switch0-cpu1" on the PCIe tree.
std::string wire_in_words(const std::string& node, const std::string& medium, const std::string& ends) {
  const std::size_t dash = ends.find('-');
  if (dash == std::string::npos) return "";
  const std::string from = ends.substr(0, dash), to = ends.substr(dash + 1);
  return medium == "nvlink" ? fmt::format("NVLink from GPU {} to GPU {} of node {}", from, to, node)
                            : fmt::format("PCIe from {} to {} of node {}", from, to, node);
}

std::string link_in_words(const std::vector<std::string>& parts, bool brief = false) {
  const std::string leaf = number_after("leaf", parts.front()), node = number_after("node", parts.front());
  if (parts.size() == 2 && !leaf.empty())
    return fmt::format("leaf switch {}, {} the spine", leaf, parts[1] == "up" ? "to" : "from");
  if (parts.size() != 3 || node.empty()) return "";
  return parts[1] == "nvlink" || parts[1] == "pcie" ? wire_in_words(node, parts[1], parts[2])
                                                    : port_in_words(node, parts[1], parts[2], brief);
}

std::string words_of_unit(const std::string& name, bool brief) {
  constexpr std::string_view kLaunch = " launch";  // kLaunchStream of a rank
  if (name.starts_with("rank ") && name.ends_with(kLaunch))
    return "host of " + name.substr(0, name.size() - kLaunch.size());
  const std::string words = link_in_words(split(name, '/'), brief);
  return words.empty() ? name : words;
}

}  // namespace

std::string interval_cell(const Interval& interval) {
  return fmt::format("{}-{}{}", rough(interval.low_ms), rough(interval.high_ms), interval.outside.empty() ? "" : "?");
}

std::string chance_cell(double chance) {
  return chance > 0.999 ? "> 99.9" : fixed(100 * chance, 1);
}

std::string regret_cell(double percent) {
  return percent < 0.05 ? "< 0.05" : fixed(percent, percent < 10 ? 2 : 1);
}

std::string doubt_sentence(const std::vector<const Interval*>& intervals, std::string_view more) {
  constexpr std::size_t kFewDoubts = 2;
  std::vector<std::string> doubts;
  for (const Interval* interval : intervals) {
    if (interval->outside.empty()) continue;
    std::string doubt = join(interval->outside);
    if (std::ranges::find(doubts, doubt) == doubts.end()) doubts.push_back(std::move(doubt));
  }
  if (doubts.empty()) return "";
  if (doubts.size() > kFewDoubts) doubts = {doubts.front(), std::string(more)};
  return fmt::format("?: not counted in the range: {}.", join(doubts, "; "));
}

std::string outside_sentence(const std::vector<std::string>& outside) {
  if (outside.empty()) return "";
  // What constants were chosen by was measured, and is yet no witness for them.
  const bool chosen = std::ranges::any_of(
      outside, [](const std::string& each) { return each.ends_with(" were used to choose constants"); });
  if (chosen) return fmt::format("Without an independent check: {}.", join(outside));
  const bool own = std::ranges::any_of(
      outside, [](const std::string& each) { return each.starts_with("no other ") || each.starts_with("all other "); });
  return fmt::format("Outside of everything measured{}: {}.", own ? " elsewhere" : "", join(outside));
}

std::string unit_in_words(const std::string& name) {
  return words_of_unit(name, false);
}

std::string unit_in_short(const std::string& name) {
  return words_of_unit(name, true);
}

std::string kind_that_limits(const std::string& name) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"NIC ", "NICs limit"}, {"NVLink ", "NVLink limits"}, {"PCIe ", "PCIe limits"}, {"leaf ", "leaf switches limit"}};
  const std::string words = link_in_words(split(name, '/'));
  const auto found = std::ranges::find_if(kKinds, [&](const auto& kind) { return words.starts_with(kind.first); });
  return found == std::end(kKinds) ? "" : std::string(found->second);
}

}  // namespace shardsim
