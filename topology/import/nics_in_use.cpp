#include "topology/import/nics_in_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"

namespace shardsim {
namespace {

// Keeps the NICs for which `stays` holds, in the list and in the tree; returns the names of the others. Sockets of
// which only those were known are no longer counted.
std::vector<std::string> keep_nics(NodeInventory& node, const std::function<bool(int)>& stays) {
  std::map<int, int> kept;  // old index, new index
  std::vector<NodeInventory::Nic> nics;
  std::vector<std::string> dropped;
  for (int i = 0; i < static_cast<int>(node.nics.size()); ++i) {
    if (!stays(i)) {
      dropped.push_back(node.nics[i].name);
    } else {
      kept[i] = static_cast<int>(nics.size());
      nics.push_back(node.nics[i]);
    }
  }
  node.nics = std::move(nics);
  for (PcieSpec::Switch& entry : node.tree) {
    std::erase_if(entry.nics, [&](int nic) { return !kept.contains(nic); });
    for (int& nic : entry.nics) nic = kept.at(nic);
  }
  return dropped;
}

// Only the fastest carry GPU traffic; the others are for storage and management.
void keep_fastest_nics(NodeInventory& node) {
  Bandwidth fastest{0};
  const auto rate_of = [](const NodeInventory::Nic& nic) { return nic.rate.value_or(kUnstatedNic); };
  for (const auto& nic : node.nics) fastest = std::max(fastest, rate_of(nic));
  const std::vector<NodeInventory::Nic> nics = node.nics;
  const auto dropped = keep_nics(node, [&](int nic) { return rate_of(nics[nic]) >= fastest; });
  if (!dropped.empty()) node.notes.push_back("NICs slower than the fastest are left out: " + join(dropped));
}

// For each entry of the tree the one that it hangs on directly at its socket.
std::map<std::string, std::string> roots_of(const std::vector<PcieSpec::Switch>& tree) {
  std::map<std::string, std::string> root;
  for (const PcieSpec::Switch& entry : tree) {
    const auto parent = root.find(entry.parent);  // parents stand before their children
    root[entry.name] = parent == root.end() ? entry.name : parent->second;
  }
  return root;
}

// NICs that share a PCIe switch with a GPU, by index.
std::set<int> near_nics(const NodeInventory& node) {
  const auto root = roots_of(node.tree);
  std::set<std::string> with_gpus;
  for (const PcieSpec::Switch& entry : node.tree)
    if (!entry.gpus.empty()) with_gpus.insert(root.at(entry.name));
  std::set<int> near;
  for (const PcieSpec::Switch& entry : node.tree)
    if (with_gpus.contains(root.at(entry.name))) near.insert(entry.nics.begin(), entry.nics.end());
  return near;
}

// Many NICs on a switch without a GPU are mostly the functions of one card, each of which the file shows as a NIC.
void note_functions(NodeInventory& node) {
  constexpr std::size_t kMostPorts = 2;
  for (const PcieSpec::Switch& entry : node.tree) {
    if (!entry.gpus.empty() || entry.nics.size() <= kMostPorts) continue;
    node.notes.push_back(fmt::format(
        "{} NICs, {} to {}, are on one PCIe switch: if they are functions of one card (SR-IOV), each counts "
        "at its full rate all the same; name those in use with --nics",
        entry.nics.size(), node.nics[entry.nics.front()].name, node.nics[entry.nics.back()].name));
  }
}

// On Azure mlx5_an0 is a function of the Ethernet of the host (accelerated networking), beside the NICs mlx5_ib0 to
// mlx5_ib7 of the GPUs: no traffic of GPUs takes it.
void drop_accelerated_networking(NodeInventory& node) {
  const auto is_it = [](const NodeInventory::Nic& nic) { return nic.name.starts_with("mlx5_an"); };
  if (std::ranges::all_of(node.nics, is_it)) return;
  const std::vector<NodeInventory::Nic> nics = node.nics;
  const auto dropped = keep_nics(node, [&](int nic) { return !is_it(nics[nic]); });
  if (!dropped.empty())
    node.notes.push_back("NICs of Azure's accelerated networking are left out: " + join(dropped) +
                         "; --nics names them");
}

void keep_nics_in_use(NodeInventory& node, const std::string& list) {
  if (!list.empty()) {
    const std::vector<NodeInventory::Nic> nics = node.nics;
    const auto dropped = keep_nics(node, [&](int nic) { return uses_nic(list, nics[nic].name); });
    if (node.nics.empty() && !dropped.empty())
      throw input_error({"argument --nics"}, "no NIC of the file is named so", "The file has " + join(dropped));
    if (!dropped.empty()) node.notes.push_back("NICs that --nics does not name are left out: " + join(dropped));
    return;
  }
  drop_accelerated_networking(node);
  const std::set<int> near = near_nics(node);
  if (!near.empty() && near.size() < node.nics.size()) {
    const auto dropped = keep_nics(node, [&](int nic) { return near.contains(nic); });
    node.notes.push_back(
        fmt::format("NICs that share no PCIe switch with a GPU are left out, as NCCL's search leaves them: {}; --nics "
                    "names others",
                    join(dropped)));
  }
  note_functions(node);
}

// Children stand behind their parents, so one pass from the back empties whole branches.
void prune_tree(std::vector<PcieSpec::Switch>& tree) {
  std::vector<PcieSpec::Switch> kept;
  std::set<std::string> parents;
  for (std::size_t i = tree.size(); i-- > 0;) {
    if (tree[i].gpus.empty() && tree[i].nics.empty() && !parents.contains(tree[i].name)) continue;
    parents.insert(tree[i].parent);
    kept.push_back(std::move(tree[i]));
  }
  tree.assign(kept.rbegin(), kept.rend());
}

// Sockets with a device, by number.
std::set<int> sockets_in(const std::vector<PcieSpec::Switch>& tree) {
  std::set<int> sockets;
  for (const PcieSpec::Switch& entry : tree)
    if (entry.parent.find_first_not_of("0123456789") == std::string::npos) sockets.insert(std::stoi(entry.parent));
  return sockets;
}

// Sockets whose devices have all been left out are none of the node that NCCL sees.
void drop_sockets(NodeInventory& node, const std::set<int>& before) {
  const std::set<int> after = sockets_in(node.tree);
  std::map<std::string, std::string> renamed;
  int next = 0;
  for (int socket = 0; socket < node.sockets; ++socket)
    if (after.contains(socket) || !before.contains(socket)) renamed[std::to_string(socket)] = std::to_string(next++);
  if (next == node.sockets) return;
  for (PcieSpec::Switch& entry : node.tree)
    if (const auto found = renamed.find(entry.parent); found != renamed.end()) entry.parent = found->second;
  node.sockets = std::max(1, next);
}

}  // namespace

bool uses_nic(const std::string& list, const std::string& name) {
  std::string_view rest = list;
  const bool excludes = rest.starts_with('^');
  if (excludes) rest.remove_prefix(1);
  const bool whole = rest.starts_with('=');
  if (whole) rest.remove_prefix(1);
  const std::vector<std::string> words = split(rest, ',');
  const bool is_named = std::ranges::any_of(words, [&](const std::string& word) {
    const std::string prefix = word.substr(0, word.find(':'));  // without the port
    return !prefix.empty() && (whole ? name == prefix : name.starts_with(prefix));
  });
  return is_named != excludes;
}

void keep_used_nics(NodeInventory& node, const std::string& list) {
  prune_tree(node.tree);  // so that sockets without any device stay, which no NIC that is left out stood for
  const std::set<int> sockets = sockets_in(node.tree);
  keep_fastest_nics(node);
  keep_nics_in_use(node, list);
  prune_tree(node.tree);
  drop_sockets(node, sockets);
}

}  // namespace shardsim
