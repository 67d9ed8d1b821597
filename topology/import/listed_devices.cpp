#include "topology/import/listed_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "topology/import/smi_table.h"

namespace shardsim {
namespace {

// "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1234...)", with a label before it or not.
std::string name_in_list(const std::string& line) {
  const std::size_t begin = line.find("GPU "), colon = line.find(": ", begin), end = line.find(" (UUID");
  if (begin == std::string::npos || colon == std::string::npos || end == std::string::npos || end < colon) return "";
  if (!is_digits(line.substr(begin + 4, colon - begin - 4))) return "";
  return line.substr(colon + 2, end - colon - 2);
}

// "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:10:00.0 Off |". Long names are cut by old drivers.
std::string name_in_table(const std::string& line) {
  const std::size_t bar = line.find('|');
  if (bar == std::string::npos || line.find(':', bar) == std::string::npos) return "";
  const std::string_view cell = trimmed(std::string_view(line).substr(bar + 1, line.find('|', bar + 1) - bar - 1));
  const std::size_t number_end = cell.find(' ');
  if (number_end == std::string_view::npos || !is_digits(std::string(cell.substr(0, number_end)))) return "";
  const std::string_view rest = trimmed(cell.substr(number_end));
  const std::string name(rest.substr(0, rest.find("  ")));
  const bool is_name = name.find_first_of("0123456789") != std::string::npos && name.find_first_of(".%/") == name.npos;
  return is_name ? name : "";
}

struct ListedNic {
  std::optional<double> gbit;
  std::string transport;
};

// Reads the lines of ibstat ("CA 'mlx5_0'", "State: Active", "Rate: 400", "Link layer: InfiniBand") and of ibv_devinfo
// ("hca_id: mlx5_0", "state: PORT_ACTIVE (4)", "active_width: 4X (2)", "active_speed: 100.0 Gbps (128)").
class NicLists {
 public:
  void line(const std::string& text) {
    std::istringstream stream(text);
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (field(words, i)) return;
  }

  const std::map<std::string, ListedNic>& nics() const { return nics_; }

 private:
  // A field whose first word is at `i`: labels of launchers may stand before it.
  bool field(const std::vector<std::string>& words, std::size_t i) {
    const std::string &key = words[i], &value = words[i + 1];
    const std::string next = i + 2 < words.size() ? words[i + 2] : "";
    const bool begins = (key == "CA" && value.starts_with('\'')) || key == "hca_id:";
    if (!begins && name_.empty()) return false;
    if (key == "Physical") return true;  // a link that is up physically may be down
    if (begins) {
      begin(value);
    } else if (key == "State:" || key == "state:") {
      is_up_ = value == "Active" || value == "PORT_ACTIVE";
    } else if (key == "Rate:") {
      rate(number(value));
    } else if (key == "active_width:") {
      lanes_ = number(value.substr(0, value.find('X')));
    } else if (key == "active_speed:") {
      rate(number(value) * lanes_);
    } else if (key == "link_layer:" || (key == "Link" && value == "layer:")) {
      layer(key == "Link" ? next : value);
    } else {
      return false;
    }
    return true;
  }

  void begin(std::string name) {
    std::erase(name, '\'');
    name_ = name;
    is_up_ = false;
    lanes_ = 1;
  }

  static double number(const std::string& word) {
    double value = 0;
    std::istringstream(word) >> value;
    return value;
  }

  void rate(double gbit) {
    ListedNic& nic = nics_[name_];
    constexpr double kMostGbit = 1e6;
    if (is_up_ && !nic.gbit && gbit > 0 && gbit < kMostGbit) nic.gbit = gbit;
  }

  void layer(const std::string& word) {
    ListedNic& nic = nics_[name_];
    if (nic.transport.empty() && word == "InfiniBand") nic.transport = "infiniband";
    if (nic.transport.empty() && word == "Ethernet") nic.transport = "roce";
  }

  std::map<std::string, ListedNic> nics_;
  std::string name_;
  bool is_up_ = false;
  double lanes_ = 1;
};

}  // namespace

std::vector<ListedGpu> listed_gpus(std::string_view text) {
  std::vector<ListedGpu> found;
  const std::vector<std::string> lines = plain_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string name = name_in_list(lines[i]);
    if (name.empty()) name = name_in_table(lines[i]);
    if (!name.empty() && std::ranges::find(found, name, &ListedGpu::name) == found.end())
      found.push_back({std::move(name), static_cast<int>(i) + 1});
  }
  return found;
}

std::string listed_gpu(std::string_view text, const std::string& source) {
  const std::vector<ListedGpu> listed = listed_gpus(text);
  if (listed.size() > 1)
    throw input_error(
        {source, listed[1].line},
        fmt::format("GPUs of several models: {} and {}", excerpt(listed[0].name), excerpt(listed[1].name)),
        "A cluster file can hold only one GPU model; describe a node whose GPUs are all alike");
  return listed.empty() ? "" : listed.front().name;
}

void note_other_gpus(std::string_view text, const GpuModel& model, NodeInventory& node) {
  for (const ListedGpu& listed : listed_gpus(text)) {
    const GpuModel* const other = known_gpu_model(listed.name);
    if (other == nullptr || other->name == model.name) continue;
    node.notes.push_back(fmt::format("line {} lists {}, and all GPUs are taken for {}, as --gpu says", listed.line,
                                     excerpt(listed.name), model.name));
  }
}

void take_listed_nics(const std::vector<std::string>& lines, NodeInventory& node) {
  NicLists lists;
  for (const std::string& line : lines) lists.line(line);
  for (NodeInventory::Nic& nic : node.nics) {
    const auto found = lists.nics().find(nic.name);
    if (found == lists.nics().end()) continue;
    if (found->second.gbit) nic.rate = Bandwidth{*found->second.gbit * 1e9 / 8};
    // A name that says EFA or RoCE knows more than a link layer.
    if (!nic.transport.empty() || found->second.transport.empty()) continue;
    nic.transport = found->second.transport;
    nic.is_transport_stated = true;
  }
}

}  // namespace shardsim
