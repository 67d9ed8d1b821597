#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "models/collective/channel_layout.h"

namespace shardsim {
namespace {

constexpr int kMostVisits = 200'000;  // about a millisecond; an 8-GPU node with every pair linked needs half of it
constexpr int kStepsPerWidth = 8;     // links are taken one by one up to this many per pair, then in larger steps

using LinkCounts = std::vector<std::vector<int>>;  // between positions in the list of GPUs

struct Cycle {
  std::vector<int> order;  // positions
  int thinnest = 0;        // links left on its thinnest pair
  std::int64_t total = 0;  // links left on all its pairs
};

bool wider(const Cycle& a, const Cycle& b) {
  return a.thinnest != b.thinnest ? a.thinnest > b.thinnest : a.total > b.total;
}

class CycleSearch {
 public:
  explicit CycleSearch(LinkCounts links) : links_(std::move(links)), used_(links_.size(), false) {}

  // The widest cycle over the links left; the previous one is kept unless another is really wider, so that a cycle is
  // used up before its links are mixed with those of others.
  bool next() {
    best_ = measured(std::move(best_.order));
    limit_ = upper_limit();
    if (limit_.thinnest <= 0) return best_.thinnest > 0;  // some GPU lacks a link in or out
    path_ = {0};
    used_.assign(links_.size(), false);
    used_[0] = true;
    extend();
    return best_.thinnest > 0;
  }

  const Cycle& best() const { return best_; }

  int take_links() {
    const int taken = std::max(1, best_.thinnest / kStepsPerWidth);
    for (std::size_t i = 0; i < best_.order.size(); ++i) {
      const int a = best_.order[i], b = best_.order[(i + 1) % best_.order.size()];
      links_[a][b] -= taken;
      links_[b][a] -= taken;
    }
    return taken;
  }

 private:
  Cycle measured(std::vector<int> order) const {
    Cycle cycle{std::move(order), std::numeric_limits<int>::max(), 0};
    if (cycle.order.empty()) return {};
    for (std::size_t i = 0; i < cycle.order.size(); ++i) {
      const int links = links_[cycle.order[i]][cycle.order[(i + 1) % cycle.order.size()]];
      cycle.thinnest = std::min(cycle.thinnest, links);
      cycle.total += links;
    }
    return cycle;
  }

  // No cycle is wider than what the two widest pairs of every GPU allow.
  Cycle upper_limit() const {
    Cycle limit{{}, std::numeric_limits<int>::max(), 0};
    for (std::vector<int> of_gpu : links_) {
      std::partial_sort(of_gpu.begin(), of_gpu.begin() + 2, of_gpu.end(), std::greater<>());
      limit.thinnest = std::min(limit.thinnest, of_gpu[1]);
      limit.total += of_gpu[0] + of_gpu[1];
    }
    limit.total /= 2;
    return limit;
  }

  void extend() {
    if (!wider(limit_, best_) || ++visits_ > kMostVisits) return;
    if (path_.size() == links_.size()) return close();
    const int last = path_.back();
    for (int next = 1; next < static_cast<int>(links_.size()); ++next) {
      if (used_[next] || links_[last][next] <= 0 || links_[last][next] < best_.thinnest) continue;
      used_[next] = true;
      path_.push_back(next);
      extend();
      path_.pop_back();
      used_[next] = false;
    }
  }

  void close() {
    Cycle cycle = measured(path_);
    if (cycle.thinnest > 0 && wider(cycle, best_)) best_ = std::move(cycle);
  }

  LinkCounts links_;
  std::vector<bool> used_;
  std::vector<int> path_;
  Cycle best_, limit_;
  int visits_ = 0;
};

LinkCounts counts_of(const std::vector<int>& gpus, const NvlinkSpec& nvlink) {
  LinkCounts links(gpus.size(), std::vector<int>(gpus.size(), 0));
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = 0; b < gpus.size(); ++b)
      if (a != b) links[a][b] = links_between(nvlink, gpus[a], gpus[b]);
  return links;
}

void add_ring(std::vector<MeshRing>& rings, std::vector<int> gpus, int links) {
  const auto same = std::find_if(rings.begin(), rings.end(), [&](const MeshRing& ring) { return ring.gpus == gpus; });
  if (same == rings.end())
    rings.push_back({std::move(gpus), links});
  else
    same->links += links;
}

}  // namespace

std::vector<MeshRing> mesh_rings(const std::vector<int>& gpus, const NvlinkSpec& nvlink) {
  std::vector<MeshRing> rings;
  if (gpus.size() < 3) return rings;
  CycleSearch search(counts_of(gpus, nvlink));
  while (search.next()) {
    std::vector<int> order;
    for (int position : search.best().order) order.push_back(gpus[position]);
    const int links = search.take_links();
    add_ring(rings, order, links);
    std::reverse(order.begin() + 1, order.end());
    add_ring(rings, order, links);
  }
  return rings;
}

}  // namespace shardsim
