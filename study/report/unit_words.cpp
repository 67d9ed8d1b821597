#include "study/report/unit_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace shardsim {
namespace {

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
