#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "models/collective/collective.h"

namespace shardsim {
namespace {

constexpr double kSameTime = 1e-9;  // relative; closer ends are ends together

// The remainder of one load on its link.
struct CappedShare {
  double start = 0;  // s
  double left = 0;   // occupancy
  double cap = 0;    // per second
};

// Max-min fair rates of the shares that have started: the narrowest caps are met first.
void fair_rates(const std::vector<CappedShare>& shares, const std::vector<std::size_t>& moving, double rate,
                std::vector<double>& rates) {
  double free = rate;
  std::size_t waiting = moving.size();
  for (std::size_t i : moving) {  // by rising cap
    rates[i] = std::min(shares[i].cap, free / static_cast<double>(waiting--));
    free -= rates[i];
  }
}

// When the last of the shares ends. `shares` by rising cap, which are used up.
double last_end(std::vector<CappedShare>& shares, double rate) {
  double now = 0;
  std::vector<double> rates(shares.size(), 0.0);
  for (std::size_t done = 0; done < shares.size();) {
    std::vector<std::size_t> moving;
    double until = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i].left <= 0) continue;
      if (shares[i].start <= now) {
        moving.push_back(i);
      } else {
        until = std::min(until, shares[i].start);
      }
    }
    fair_rates(shares, moving, rate, rates);
    std::size_t first = shares.size();
    for (std::size_t i : moving) {
      const double end = now + shares[i].left / rates[i];
      if (end > until) continue;
      until = end;
      first = i;
    }
    for (std::size_t i : moving) shares[i].left -= (until - now) * rates[i];
    for (std::size_t i : moving) {
      if (i != first && shares[i].left > 0) continue;
      shares[i].left = 0;
      ++done;
    }
    now = until;
  }
  return now;
}

bool alike(std::span<const CappedShare> shares) {
  return std::all_of(shares.begin(), shares.end(), [&](const CappedShare& share) {
    return share.start == shares[0].start && share.left == shares[0].left && share.cap == shares[0].cap;
  });
}

double end_of(std::span<const CappedShare> shares, double total, double rate) {
  if (alike(shares)) return shares[0].start + std::max(total / rate, shares[0].left / shares[0].cap);
  std::vector<CappedShare> by_cap(shares.begin(), shares.end());
  std::sort(by_cap.begin(), by_cap.end(), [](const CappedShare& a, const CappedShare& b) { return a.cap < b.cap; });
  return last_end(by_cap, rate);
}

// The link that ends last so far.
class Latest {
 public:
  void note(LinkId link, double end, double busy) {
    result_.time = std::max(result_.time, Seconds{end});
    const bool later = end > until_ * (1 + kSameTime);
    if (!later && (end < until_ * (1 - kSameTime) || busy <= busiest_)) return;
    if (later) until_ = end;
    busiest_ = busy;
    result_.bottleneck = link;
  }
  void start(Seconds at) { result_.time = std::max(result_.time, at); }
  SideBySide result() const { return result_; }

 private:
  SideBySide result_;
  double until_ = 0, busiest_ = 0;
};

double rate_of(LinkId link, const Cluster& cluster) {
  return cluster.links()[link].rate.bytes_per_second;
}

CappedShare share_of(const LinkLoad& load, Seconds start, double rate) {
  const double cap = load.cap.bytes_per_second > 0 ? std::min(load.cap.bytes_per_second, rate) : rate;
  return {start.value, load.occupancy, cap};
}

// The shares of all calls, link after link, on each in the order of the calls.
struct SharesByLink {
  SharesByLink(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster)
      : end(cluster.links().size() + 1, 0) {
    for (const CollectiveLoads* call : calls)
      for (const LinkLoad& load : call->loads) ++end[load.link + 1];
    std::partial_sum(end.begin(), end.end(), end.begin());
    shares.resize(end.back());
    for (const CollectiveLoads* call : calls)
      for (const LinkLoad& load : call->loads)
        shares[end[load.link]++] = share_of(load, call->start, rate_of(load.link, cluster));
  }

  std::span<const CappedShare> on(std::size_t link) const {
    const std::size_t first = link == 0 ? 0 : end[link - 1];
    return {shares.data() + first, end[link] - first};
  }

  std::vector<std::size_t> end;  // [link] behind its last share
  std::vector<CappedShare> shares;
};

// True when links rise from load to load through all calls, as in calls of one node after the other: none is shared,
// and none need be looked up.
bool links_rise(const std::vector<const CollectiveLoads*>& calls) {
  LinkId last = -1;
  for (const CollectiveLoads* call : calls) {
    for (const LinkLoad& load : call->loads) {
      if (load.link <= last) return false;
      last = load.link;
    }
  }
  return true;
}

// As end_of() of one share on each link.
void note_apart(Latest& latest, const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster) {
  for (const CollectiveLoads* call : calls) {
    for (const LinkLoad& load : call->loads) {
      const double rate = rate_of(load.link, cluster), busy = load.occupancy / rate;
      const CappedShare share = share_of(load, call->start, rate);
      latest.note(load.link, share.start + std::max(busy, share.left / share.cap), busy);
    }
  }
}

SideBySide alone(const CollectiveLoads& call, const Cluster& cluster) {
  Latest latest;
  latest.start(call.start);
  for (const LinkLoad& load : call.loads) {
    const double rate = rate_of(load.link, cluster);
    const CappedShare share = share_of(load, call.start, rate);
    latest.note(load.link, share.start + share.left / share.cap, share.left / rate);
  }
  return latest.result();
}

}  // namespace

SideBySide side_by_side(const std::vector<const CollectiveLoads*>& calls, const Cluster& cluster) {
  if (calls.size() == 1) return alone(*calls.front(), cluster);
  Latest latest;
  for (const CollectiveLoads* call : calls) latest.start(call->start);
  if (links_rise(calls)) {
    note_apart(latest, calls, cluster);
    return latest.result();
  }
  const SharesByLink by_link(calls, cluster);
  for (std::size_t link = 0; link < cluster.links().size(); ++link) {
    const std::span<const CappedShare> shares = by_link.on(link);
    if (shares.empty()) continue;
    const double rate = rate_of(static_cast<LinkId>(link), cluster);
    double total = 0;
    for (const CappedShare& share : shares) total += share.left;
    latest.note(static_cast<LinkId>(link), end_of(shares, total, rate), total / rate);
  }
  return latest.result();
}

}  // namespace shardsim
