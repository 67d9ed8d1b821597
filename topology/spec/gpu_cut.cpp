#include "topology/spec/gpu_cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"

namespace shardsim {
namespace {

std::optional<std::int64_t> whole(const Tree* tree) {
  if (tree == nullptr || tree->kind != Tree::Kind::scalar) return std::nullopt;
  return whole_number<std::int64_t>(tree->scalar);
}

Tree* field_of(Tree& map, std::string_view first, std::string_view second) {
  Tree* const inner = map.find(first);
  return inner == nullptr ? nullptr : inner->find(second);
}

class GpuCut {
 public:
  GpuCut(Tree& cluster, std::int64_t gpus, const Tree& count)
      : cluster_(cluster), gpus_(gpus), before_(count.replaced), layer_(count.layer) {}

  std::vector<std::string> cut() {
    if (!lists_gpus()) say_counts();
    cut_shared_nics();
    cut_tree();
    cut_links();
    cut_domain();
    cut_graph("one_node");
    cut_graph("multi_node");
    cut_faults();
    return std::move(gone_);
  }

 private:
  bool is_earlier(const Tree* value) const { return value != nullptr && top_layer(*value) < layer_; }

  void say(std::size_t count, std::string_view one, std::string_view several) {
    if (count > 0) gone_.push_back(fmt::format("{} {}", count, count == 1 ? one : several));
  }

  // A NIC that more GPUs share than there are is one of those that are left.
  void cut_shared_nics() {
    Tree* const shared = field_of(cluster_, "nics", "shared_by");
    if (is_earlier(shared) && whole(shared).value_or(0) > gpus_) shared->scalar = std::to_string(gpus_);
  }

  // NICs that so many GPUs of a node own; nothing where the node owns them itself.
  std::optional<std::int64_t> nics_of(std::int64_t gpus) {
    if (const auto each = whole(field_of(cluster_, "nics", "per_gpu"))) return gpus * *each;
    if (const auto by = whole(field_of(cluster_, "nics", "shared_by")); by && *by > 0)
      return gpus / std::min(*by, gpus);
    return std::nullopt;
  }

  // True where the tree of the node's switches names GPUs that go, and so says how many.
  bool lists_gpus() {
    const Tree* const tree = field_of(cluster_, "pcie", "tree");
    if (!is_earlier(tree) || tree->kind != Tree::Kind::list) return false;
    return std::ranges::any_of(tree->items, [&](const Tree& entry) {
      return std::ranges::any_of(indices(entry, "gpus"), [&](std::int64_t gpu) { return gpu >= gpus_; });
    });
  }

  // Parts that a file counts and does not list go with the number of GPUs that it stated. If only GPUs go, that is what
  // was asked for, and nothing is said.
  void say_counts() {
    const auto earlier = nics_of(before_), now = nics_of(gpus_);
    if (before_ <= gpus_ || !earlier || !now || *earlier <= *now) return;
    say(static_cast<std::size_t>(before_ - gpus_), "GPU", "GPUs");
    say(static_cast<std::size_t>(*earlier - *now), "NIC", "NICs");
  }

  // The indices of a list that are kept, as they are numbered then.
  static std::size_t keep(Tree* list, const std::map<std::int64_t, std::int64_t>& number) {
    if (list == nullptr || list->kind != Tree::Kind::list) return 0;
    return std::erase_if(list->items, [&](Tree& item) {
      const auto index = whole(&item);
      if (!index) return false;  // its reader says what is wrong
      const auto found = number.find(*index);
      if (found != number.end()) item.scalar = std::to_string(found->second);
      return found == number.end();
    });
  }

  static std::vector<std::int64_t> indices(const Tree& entry, const char* key) {
    std::vector<std::int64_t> indices;
    if (const Tree* const list = entry.find(key))
      for (const Tree& item : list->items)
        if (const auto index = whole(&item)) indices.push_back(*index);
    return indices;
  }

  // NICs by their number: those of the GPUs that are left, or, where the node has NICs of its own, all but those beside
  // GPUs that go.
  std::map<std::int64_t, std::int64_t> kept_nics(const Tree& tree) {
    const std::optional<std::int64_t> owned = nics_of(gpus_);
    std::set<std::int64_t> kept;
    for (const Tree& entry : tree.items) {
      const std::vector<std::int64_t> gpus = indices(entry, "gpus");
      const bool leads = gpus.empty() || std::ranges::any_of(gpus, [&](std::int64_t gpu) { return gpu < gpus_; });
      for (const std::int64_t nic : indices(entry, "nics"))
        if (owned ? nic < *owned : leads) kept.insert(nic);
    }
    std::map<std::int64_t, std::int64_t> number;
    for (const std::int64_t nic : kept) number.emplace(nic, static_cast<std::int64_t>(number.size()));
    return number;
  }

  // Switches without GPUs, NICs and other switches.
  static std::size_t remove_idle_switches(Tree& tree) {
    std::size_t removed = 0;
    for (bool again = true; again;) {
      std::set<std::string> parents;
      for (const Tree& entry : tree.items)
        if (const Tree* const parent = entry.find("parent")) parents.insert(parent->scalar);
      const std::size_t now = std::erase_if(tree.items, [&](const Tree& entry) {
        const Tree* const name = entry.find("switch");
        return name != nullptr && !parents.contains(name->scalar) && indices(entry, "gpus").empty() &&
               indices(entry, "nics").empty();
      });
      removed += now;
      again = now > 0;
    }
    return removed;
  }

  void cut_tree() {
    if (!lists_gpus()) return;
    Tree* const tree = field_of(cluster_, "pcie", "tree");
    std::map<std::int64_t, std::int64_t> gpus;
    for (std::int64_t gpu = 0; gpu < gpus_; ++gpu) gpus.emplace(gpu, gpu);
    const std::map<std::int64_t, std::int64_t> nics = kept_nics(*tree);
    std::size_t gone_gpus = 0, gone_nics = 0;
    for (Tree& entry : tree->items) {
      gone_gpus += keep(entry.find("gpus"), gpus);
      gone_nics += keep(entry.find("nics"), nics);
    }
    Tree* const per_node = field_of(cluster_, "nics", "per_node");
    if (is_earlier(per_node) && gone_nics > 0) per_node->scalar = std::to_string(nics.size());
    say(gone_gpus, "GPU", "GPUs");
    say(gone_nics, "NIC", "NICs");
    say(remove_idle_switches(*tree), "PCIe switch", "PCIe switches");
  }

  void cut_links() {
    Tree* const links = field_of(cluster_, "nvlink", "links");
    if (!is_earlier(links) || links->kind != Tree::Kind::list) return;
    const std::size_t gone = std::erase_if(links->items, [&](const Tree& link) {
      return link.items.size() == 3 &&
             (whole(&link.items[0]).value_or(0) >= gpus_ || whole(&link.items[1]).value_or(0) >= gpus_);
    });
    if (gone > 0) gone_.push_back(fmt::format("the NVLinks between {} {} of GPUs", gone, gone == 1 ? "pair" : "pairs"));
    Tree* const kind = field_of(cluster_, "nvlink", "kind");
    if (!links->items.empty() || !is_earlier(kind) || gone == 0) return;
    kind->scalar = "none";
    kind->layer = layer_;  // what the file says of its mesh is of the one before
  }

  // A domain is not larger than the cluster.
  void cut_domain() {
    Tree* const domain = field_of(cluster_, "nvlink", "domain");
    const auto nodes = whole(cluster_.find("nodes"));
    if (!is_earlier(domain) || !nodes || whole(domain).value_or(0) <= *nodes * gpus_) return;
    domain->scalar = std::to_string(*nodes * gpus_);
    gone_.push_back("the other GPUs of the NVLink domain");
  }

  void cut_graph(const char* key) {
    Tree* const graph = cluster_.find("graph");
    const Tree* const stated = graph == nullptr ? nullptr : graph->find(key);
    if (!is_earlier(stated) || stated->kind != Tree::Kind::map) return;
    std::erase_if(graph->fields, [&](const auto& field) { return field.first == key; });
    gone_.push_back(fmt::format("the channels of graph.{}, which NCCL's search finds anew", key));
  }

  void cut_faults() {
    Tree* const faults = cluster_.find("faults");
    if (!is_earlier(faults) || faults->kind != Tree::Kind::list) return;
    say(std::erase_if(faults->items, [&](const Tree& fault) { return whole(fault.find("gpu")).value_or(0) >= gpus_; }),
        "fault of a GPU", "faults of GPUs");
  }

  Tree& cluster_;
  std::int64_t gpus_;
  std::int64_t before_;  // that an earlier layer stated; -1: none did
  int layer_;
  std::vector<std::string> gone_;
};

}  // namespace

CutCluster cut_to_gpus(Tree cluster) {
  CutCluster result{std::move(cluster), {}};
  Tree* const gpu = result.tree.find("gpu");
  const Tree* const count = gpu == nullptr ? nullptr : gpu->find("count");
  const std::optional<std::int64_t> gpus = whole(count);
  if (gpus && *gpus > 0) result.gone = GpuCut(result.tree, *gpus, *count).cut();
  return result;
}

}  // namespace shardsim
