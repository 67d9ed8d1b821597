#include "validate/execute/devices/machine_facts.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "base/text.h"
#include "validate/execute/meet/failure_cause.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// Without what separates facts.
std::string value_of(std::string text) {
  for (char& each : text) {
    if (each == '\n' || each == '\r' || each == '\t') each = ' ';
    if (each == ';') each = ',';
  }
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return value_of(line);
}

// By value, who says it.
using Sayers = std::map<std::string, std::vector<int>>;

std::string merged_value(const Sayers& values) {
  if (values.size() == 1) return values.begin()->first;
  std::vector<std::pair<double, std::string>> numbers;
  for (const auto& [value, ranks] : values) {
    if (const std::optional<double> number = number_of(value)) numbers.emplace_back(*number, value);
  }
  if (numbers.size() == values.size()) {
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    return least->second + " to " + most->second;
  }
  std::vector<std::string> texts;
  for (const auto& [value, ranks] : values) texts.push_back(fmt::format("{} ({})", value, rank_list(ranks)));
  return join(texts);
}

std::string allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  return fmt::format("{} of {}", CPU_COUNT(&set), sysconf(_SC_NPROCESSORS_ONLN));
}

// InfiniBand and RoCE adapters, by name: "mlx5_0 (NUMA node 1, 400 Gb/sec (4X NDR))".
std::string nics() {
  std::vector<std::string> all;
  std::error_code none;
  for (const fs::directory_entry& nic : fs::directory_iterator("/sys/class/infiniband", none)) {
    all.push_back(fmt::format("{} (NUMA node {}, {})", nic.path().filename().string(),
                              line_of(nic.path() / "device/numa_node"), line_of(nic.path() / "ports/1/rate")));
  }
  std::sort(all.begin(), all.end());
  return join(all);
}

std::string first_line_of_command(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 1024> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  return line.data();
}

// As nvidia-smi has them, and as they are called here.
constexpr std::array<std::pair<const char*, const char*>, 8> kQueried = {
    {{"clocks.sm", "SM clock, MHz"},
     {"clocks.mem", "memory clock, MHz"},
     {"power.draw", "power, W"},
     {"power.limit", "power limit, W"},
     {"temperature.gpu", "temperature, C"},
     {"clocks_throttle_reasons.active", "throttled"},
     {"ecc.mode.current", "ECC"},
     {"persistence_mode", "persistence"}}};

bool is_pci_address(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

}  // namespace

std::string facts_text(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    if (value.empty()) continue;
    text += (text.empty() ? "" : "; ") + name + ": " + value_of(value);
  }
  return text;
}

Facts facts_of_text(const std::string& text) {
  Facts facts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("; ", at), text.size()), colon = text.find(": ", at);
    if (colon < end) facts[text.substr(at, colon - at)] = text.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return facts;
}

std::string merged_facts(const std::vector<std::string>& texts) {
  std::map<std::string, Sayers> said;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    for (const auto& [name, value] : facts_of_text(texts[rank])) said[name][value].push_back(static_cast<int>(rank));
  }
  Facts merged;
  for (const auto& [name, values] : said) merged[name] = merged_value(values);
  return facts_text(merged);
}

Facts host_facts() {
  Facts facts{{"processors allowed", allowed_processors()}, {"NICs", nics()}};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!text.starts_with("NCCL_") || text.starts_with("NCCL_HOSTID=")) continue;
    const std::size_t equals = text.find('=');
    facts[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return facts;
}

Facts gpu_state(const std::string& pci_address) {
  if (!is_pci_address(pci_address)) return {};
  std::vector<std::string> queries;
  for (const auto& [query, name] : kQueried) queries.emplace_back(query);
  const std::string line =
      first_line_of_command(fmt::format("nvidia-smi -i {} --query-gpu={} --format=csv,noheader,nounits 2>/dev/null",
                                        pci_address, fmt::join(queries, ",")));
  Facts facts;
  const std::vector<std::string> values = split(line, ',');
  for (std::size_t i = 0; i < kQueried.size() && values.size() == kQueried.size(); ++i) {
    facts[kQueried[i].second] = value_of(values[i]);
  }
  std::string address = pci_address;
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return std::tolower(c); });
  facts["GPU's NUMA node"] = line_of(fs::path("/sys/bus/pci/devices") / address / "numa_node");
  return facts;
}

}  // namespace shardsim
