#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "base/text.h"
#include "topology/import/listed_devices.h"
#include "topology/import/nccl_elements.h"
#include "topology/import/node_inventory.h"
#include "topology/import/smi_table.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

// The PCIe path between two devices that a cell states, near to far.
enum class Way { pix, pxb, host, sys, hidden };

struct Cell {
  Way way = Way::hidden;
  int nvlinks = 0;
  bool operator==(const Cell&) const = default;
};

Cell parse_cell(const std::string& text, const Place& place) {
  static const std::map<std::string, Way, std::less<>> kWays = {{"PIX", Way::pix},  {"PXB", Way::pxb},
                                                                {"PHB", Way::host}, {"NODE", Way::host},
                                                                {"SYS", Way::sys},  {"SOC", Way::sys}};
  if (const auto found = kWays.find(text); found != kWays.end()) return {found->second, 0};
  int links = 0;
  const char* end = text.data() + text.size();
  const bool is_nvlink = text.starts_with("NV") && std::from_chars(text.data() + 2, end, links).ptr == end;
  if (is_nvlink && links >= 1 && links <= kMostLinksPerGpu) return {Way::hidden, links};
  static const std::set<std::string, std::less<>> kPeerStates = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};
  if (kPeerStates.contains(text))
    throw input_error(place,
                      fmt::format("the cell {} is one of nvidia-smi topo -p2p, which shows no paths", excerpt(text)),
                      "Paste the matrix of nvidia-smi topo -m");
  throw input_error(place, fmt::format("the cell {} is none of X, NV#, PIX, PXB, PHB, NODE, SYS", excerpt(text)),
                    "Paste the matrix as nvidia-smi printed it");
}

using Cells = std::vector<std::vector<Cell>>;

void check_pair(const SmiTable& table, const Cells& cells, std::size_t a, std::size_t b) {
  const auto& rows = table.rows;
  if (cells[a][b] != cells[b][a]) {
    throw input_error(rows[a].place,
                      fmt::format("{0} to {1} is {2}, but {1} to {0} is {3}", rows[a].name, rows[b].name,
                                  rows[a].cells[b], rows[b].cells[a]),
                      "The matrix must be symmetric");
  }
  if (cells[a][b].nvlinks > 0 && std::max(a, b) >= table.gpus) {
    throw input_error(rows[a].place, fmt::format("NVLinks between {} and {}", rows[a].name, rows[b].name),
                      "NVLinks join GPUs");
  }
}

Cells parse_cells(const SmiTable& table) {
  Cells cells(table.rows.size(), std::vector<Cell>(table.rows.size()));
  for (std::size_t a = 0; a < cells.size(); ++a) {
    for (std::size_t b = 0; b < cells.size(); ++b) {
      const std::string& text = table.rows[a].cells[b];
      if ((a == b) != (text == "X")) {
        throw input_error(table.rows[a].place,
                          fmt::format("{} to {} is {}", table.rows[a].name, table.rows[b].name, excerpt(text)),
                          "X must stand on the diagonal, and nowhere else");
      }
      if (a != b) cells[a][b] = parse_cell(text, table.rows[a].place);
    }
  }
  for (std::size_t a = 0; a < cells.size(); ++a) {
    for (std::size_t b = a + 1; b < cells.size(); ++b) check_pair(table, cells, a, b);
  }
  return cells;
}

// Every device's group, where all pairs up to `farthest` are in one; groups count from 0 in the order of devices.
std::vector<int> groups_within(const Cells& cells, Way farthest) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> near(cells.size());
  for (std::size_t a = 0; a < cells.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (cells[a][b].way <= farthest) boost::add_edge(a, b, near);
  std::vector<int> group(cells.size());
  boost::connected_components(near, group.data());
  return group;
}

// Reads what a matrix tells of sockets: devices within a host bridge of each other are on one, and GPUs of one NUMA
// node, whatever their cells say (a virtual machine shows SYS for what it does not know). Groups that no cell joins
// (their GPUs show NVLinks alone) come together when no cell says SYS. NICs that are SYS to every GPU are on no socket
// of their own: they are dealt to those of the GPUs, in order.
class Sockets {
 public:
  Sockets(const SmiTable& table, const Cells& cells)
      : table_(table), cells_(cells), group_(groups_within(cells, Way::host)) {
    const int groups = *std::max_element(group_.begin(), group_.end()) + 1;
    members_.resize(static_cast<std::size_t>(groups));
    for (std::size_t device = 0; device < group_.size(); ++device)
      members_[static_cast<std::size_t>(group_[device])].push_back(device);
    for (const auto& some : members_)
      if (has_gpu(some)) place(some);
    for (const auto& some : members_)
      if (!has_gpu(some)) deal(some);
  }

  const std::vector<int>& of_device() const { return group_; }
  int count() const { return static_cast<int>(std::max<std::size_t>(1, sockets_.size())); }
  bool dealt_any() const { return dealt_ > 0; }
  // The NUMA node of each socket as the matrix numbers them, "" where it does not say.
  std::vector<std::string> numa_nodes() const {
    std::vector<std::string> nodes;
    for (const Members& socket : sockets_) nodes.push_back(numa_of(socket));
    return nodes;
  }

 private:
  using Members = std::vector<std::size_t>;

  bool has_gpu(const Members& some) const {
    return std::ranges::any_of(some, [&](std::size_t device) { return device < table_.gpus; });
  }

  std::string numa_of(const Members& some) const {
    for (const std::size_t device : some)
      if (device < table_.gpus && !table_.rows[device].numa.empty()) return table_.rows[device].numa;
    return "";
  }

  bool fits(const Members& some, const Members& socket) const {
    const std::string numa = numa_of(some), other = numa_of(socket);
    if (!numa.empty() && !other.empty()) return numa == other;
    return std::ranges::none_of(socket, [&](std::size_t a) {
      return std::ranges::any_of(some, [&](std::size_t b) { return cells_[a][b].way == Way::sys; });
    });
  }

  void put(const Members& some, std::size_t socket) {
    sockets_[socket].insert(sockets_[socket].end(), some.begin(), some.end());
    for (const std::size_t device : some) group_[device] = static_cast<int>(socket);
  }

  void place(const Members& some) {
    const auto home = std::ranges::find_if(sockets_, [&](const Members& socket) { return fits(some, socket); });
    const auto index = static_cast<std::size_t>(home - sockets_.begin());
    if (home == sockets_.end()) sockets_.emplace_back();
    put(some, index);
  }

  void deal(const Members& some) {
    const auto home = std::ranges::find_if(sockets_, [&](const Members& socket) { return fits(some, socket); });
    if (home != sockets_.end()) return put(some, static_cast<std::size_t>(home - sockets_.begin()));
    put(some, dealt_++ % sockets_.size());
  }

  const SmiTable& table_;
  const Cells& cells_;
  std::vector<int> group_;
  std::vector<Members> members_, sockets_;
  std::size_t dealt_ = 0;
};

// A group that a farther cell splits again is in no tree.
void check_tree(const SmiTable& table, const Cells& cells, const std::vector<int>& group, Way farthest) {
  for (std::size_t a = 0; a < cells.size(); ++a) {
    for (std::size_t b = 0; b < cells.size(); ++b) {
      if (group[a] != group[b] || cells[a][b].way == Way::hidden || cells[a][b].way <= farthest) continue;
      throw input_error(table.rows[a].place,
                        fmt::format("{} to {} is {}, although a third device is nearer to both of them",
                                    table.rows[a].name, table.rows[b].name, table.rows[a].cells[b]),
                        "No tree of PCIe switches gives such a matrix; is it of a single node?");
    }
  }
}

void add_device(const SmiTable& table, std::size_t device, PcieSpec::Switch& entry) {
  if (device < table.gpus) {
    entry.gpus.push_back(static_cast<int>(device));
  } else {
    entry.nics.push_back(static_cast<int>(device - table.gpus));
  }
}

// A cluster file counts sockets from 0, whatever the machine calls them.
void note_numbers(const std::vector<std::string>& numa_nodes, NodeInventory& node) {
  std::vector<std::string> parts;
  for (std::size_t socket = 0; socket < numa_nodes.size(); ++socket)
    if (!numa_nodes[socket].empty() && numa_nodes[socket] != fmt::format("{}", socket))
      parts.push_back(fmt::format("{} is socket {}", numa_nodes[socket], socket));
  if (!parts.empty()) node.notes.push_back("NUMA nodes have other numbers in the model: " + join(parts));
}

// One switch for each PIX group; where PXB joins several, one more above them.
void build_tree(const SmiTable& table, const Cells& cells, NodeInventory& node) {
  const std::vector<int> near = groups_within(cells, Way::pix), bridged = groups_within(cells, Way::pxb);
  const Sockets sockets(table, cells);
  const std::vector<int>& socket = sockets.of_device();
  check_tree(table, cells, near, Way::pix);
  check_tree(table, cells, bridged, Way::pxb);
  node.sockets = sockets.count();
  note_numbers(sockets.numa_nodes(), node);
  if (sockets.dealt_any())
    node.notes.emplace_back(
        "the matrix does not say at which socket the NICs are that no GPU is near; they are dealt out");
  std::map<int, std::string> bridge_name;
  std::map<int, std::size_t> entry_of;
  const auto add = [&](const std::string& parent) {
    node.tree.push_back({fmt::format("s{}", node.tree.size()), parent, {}, {}});
    return node.tree.size() - 1;
  };
  for (std::size_t device = 0; device < cells.size(); ++device) {
    std::string parent = fmt::format("{}", socket[device]);
    bool is_bridged = false;
    for (std::size_t b = 0; b < cells.size(); ++b)
      is_bridged = is_bridged || (bridged[b] == bridged[device] && near[b] != near[device]);
    if (is_bridged && !bridge_name.contains(bridged[device]))
      bridge_name[bridged[device]] = node.tree[add(parent)].name;
    if (is_bridged) parent = bridge_name.at(bridged[device]);
    if (!entry_of.contains(near[device])) entry_of[near[device]] = add(parent);
    add_device(table, device, node.tree[entry_of.at(near[device])]);
  }
}

// NVLinks of each GPU to a switch, where the cells are those of one: as many between two GPUs as the one with fewer
// has. Empty where another cell speaks against it.
std::vector<int> links_to_switch(const SmiTable& table, const Cells& cells) {
  std::vector<int> most(table.gpus, 0);
  for (std::size_t a = 0; a < table.gpus; ++a)
    for (std::size_t b = 0; b < table.gpus; ++b)
      if (a != b) most[a] = std::max(most[a], cells[a][b].nvlinks);
  for (std::size_t a = 0; a < table.gpus; ++a)
    for (std::size_t b = 0; b < table.gpus; ++b)
      if (a != b && (cells[a][b].nvlinks == 0 || cells[a][b].nvlinks != std::min(most[a], most[b]))) return {};
  return most;
}

// True where the GPUs are on a switch to which some of them, or all, lost links. Where none has all links of its model,
// only a switch explains more links to the other GPUs, in sum, than the model has; more than a quarter of them gone
// says that the model is another one (an A800 has 8 where an A100 has 12).
bool has_lost_links(const std::vector<int>& to_switch, const GpuModel& model) {
  if (to_switch.empty() || model.nvlinks == kUnknownLinks) return false;
  const auto [least, most] = std::ranges::minmax_element(to_switch);
  if (*least == model.nvlinks || *most > model.nvlinks) return false;
  const int to_others = *least * static_cast<int>(to_switch.size() - 1);
  return *most == model.nvlinks || (to_others > model.nvlinks && 4 * *least >= 3 * model.nvlinks);
}

// The GPU without NVLinks of a board whose other GPUs are all on the switch. As many links between each two of them as
// a GPU has in all cannot be links of pairs.
std::optional<std::size_t> unlinked_gpu(const SmiTable& table, const Cells& cells, const GpuModel& model) {
  const auto links = [&](std::size_t a, std::size_t b) { return a == b ? 0 : cells[a][b].nvlinks; };
  std::vector<std::size_t> linked;
  std::optional<std::size_t> off;
  for (std::size_t a = 0; a < table.gpus; ++a) {
    bool has_any = false;
    for (std::size_t b = 0; b < table.gpus; ++b) has_any = has_any || links(a, b) > 0;
    if (has_any)
      linked.push_back(a);
    else if (!off)
      off = a;
  }
  if (linked.size() < 3) return std::nullopt;
  for (const std::size_t a : linked)
    for (const std::size_t b : linked)
      if (a != b && links(a, b) != model.nvlinks) return std::nullopt;
  return off;
}

void add_nvlinks(const SmiTable& table, const Cells& cells, const GpuModel& model, NodeInventory& node) {
  if (const auto off = unlinked_gpu(table, cells, model))
    throw gpu_off_switch(table.rows[*off].place, table.rows[*off].name);
  const std::vector<int> to_switch = table.gpus > 2 ? links_to_switch(table, cells) : std::vector<int>{};
  if (has_lost_links(to_switch, model)) {
    node.switch_links = to_switch;
    if (std::ranges::max(to_switch) < model.nvlinks)
      node.notes.push_back(
          fmt::format("no GPU has all NVLinks of its model: {} has {}, and {} at most lead to the switch; either links "
                      "are down or the model is another one (--gpu)",
                      model.name, model.nvlinks, std::ranges::max(to_switch)));
    return;
  }
  bool all_alike = table.gpus > 1;
  for (int a = 0; a < static_cast<int>(table.gpus); ++a) {
    for (int b = a + 1; b < static_cast<int>(table.gpus); ++b) {
      const int links = cells[a][b].nvlinks;
      all_alike = all_alike && links == cells[0][1].nvlinks;
      if (links > 0) node.pairs.push_back({a, b, links});
    }
  }
  if (!all_alike || node.pairs.empty()) return;
  // Nobody knows the number of links of a model that is like another one: more than two GPUs alike are on a switch.
  const bool has_all = model.nvlinks == kUnknownLinks ? table.gpus > 2 : cells[0][1].nvlinks == model.nvlinks;
  if (!has_all) return;
  node.switch_links.assign(table.gpus, cells[0][1].nvlinks);
  node.pairs.clear();
}

// `topo -mp` prints the PCIe paths alone.
void note_hidden_nvlinks(const GpuModel& model, NodeInventory& node) {
  if (node.gpus.size() < 2 || model.nvlinks == 0 || !node.pairs.empty() || !node.switch_links.empty()) return;
  if (!has_nvlink_board(model.name)) return;
  node.nvlink_is_known = false;
}

void note_what_is_hidden(const Cells& cells, NodeInventory& node) {
  node.notes.emplace_back("a matrix says classes, not rates: PCIe and NVLink rates are those of the GPU model");
  const bool hides = std::any_of(cells.begin(), cells.end(), [](const std::vector<Cell>& row) {
    return std::any_of(row.begin(), row.end(), [](const Cell& cell) { return cell.nvlinks > 0; });
  });
  if (hides)
    node.notes.emplace_back("PCIe switches between GPUs with NVLink are hidden, NICs and NUMA nodes placed them");
}

// "NIC0: mlx5_0" below the matrix, of which the first counts, and what the name says. A name like mlx5_0 is that of
// InfiniBand and of Ethernet.
void name_nics(const std::vector<std::string>& lines, NodeInventory& node) {
  std::map<std::string, NodeInventory::Nic*> by_name;
  for (NodeInventory::Nic& nic : node.nics) by_name[nic.name + ":"] = &nic;
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string key, name;
    while (words >> key && !by_name.contains(key)) continue;
    const auto found = by_name.find(key);
    if (found == by_name.end() || !(words >> name)) continue;
    found->second->name = name;
    if (!name.starts_with("mlx")) found->second->transport = transport_of(name, 0);
    by_name.erase(found);
  }
}

void note_further(const SmiTable& table, NodeInventory& node) {
  for (const SmiTable::Further& other : table.further)
    node.notes.push_back(fmt::format("line {} begins another matrix, {}: only the first one of the file is read",
                                     other.place.line,
                                     other.is_equal ? "equal to the first" : "which differs from the first"));
}

}  // namespace

bool looks_like_smi_matrix(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] == '<') return false;
  constexpr std::string_view kGpu = "GPU";  // the first need not be GPU0: a job may have others
  for (std::size_t at = text.find(kGpu); at != std::string_view::npos; at = text.find(kGpu, at + 1)) {
    const std::size_t number = at + kGpu.size();
    if (number < text.size() && text[number] >= '0' && text[number] <= '9') return true;
  }
  return false;
}

NodeInventory read_smi_matrix(std::string_view text, const std::string& source, const GpuModel& model) {
  const SmiTable table = parse_smi_table(text, source);
  const Cells cells = parse_cells(table);
  NodeInventory node;
  node.place = table.rows.front().place;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const SmiTable::Row& row = table.rows[i];
    if (i < table.gpus) {
      node.gpus.push_back({row.name, row.place, std::nullopt, std::string(model.name)});
    } else {
      node.nics.push_back({row.name, std::nullopt, "", true});
    }
  }
  build_tree(table, cells, node);
  add_nvlinks(table, cells, model, node);
  note_hidden_nvlinks(model, node);
  note_what_is_hidden(cells, node);
  const std::vector<std::string> lines = plain_lines(text);
  name_nics(lines, node);
  take_listed_nics(lines, node);
  note_further(table, node);
  return node;
}

}  // namespace shardsim
