#include <algorithm>
#include <cmath>

#include "sim/engine/earliest.h"
#include "sim/engine/networks/fair_link.h"

namespace shardsim {
namespace {

constexpr std::size_t kQueuesAhead = 8;  // that are fetched from memory before their turn
constexpr std::size_t kLineOfCache = 64;

// Where every transfer loads one link, max-min fairness over all links is max-min fairness on each of them by itself:
// no transfer ties the rate of one link to that of another. So links are queues of their own, and all that they share
// is the order in which their next transfers end.
class FairQueuesSession : public NetworkSession {
 public:
  FairQueuesSession(const std::vector<Link>& links, const std::vector<TransferRoute>& routes)
      : links_(links), queue_of_(links.size(), -1) {
    std::vector<LinkId> in_use;
    routes_.reserve(routes.size());
    for (const TransferRoute& route : routes) {
      int& queue = queue_of_[route.links.front()];
      if (queue < 0) {
        queue = static_cast<int>(in_use.size());
        in_use.push_back(route.links.front());
      }
      const double cap = route.cap.bytes_per_second;
      routes_.push_back({queue, cap > 0 ? cap : std::numeric_limits<double>::infinity()});
    }
    queues_.reserve(in_use.size());  // queues are large: growing would copy them, and touch twice their memory
    for (const LinkId link : in_use) queues_.emplace_back(links[link].rate.bytes_per_second);
    versions_.assign(queues_.size(), 0);
  }

  Seconds now() const override { return {now_}; }

  // Whole bytes, as SimGrid counts them; less than half a byte takes no time.
  TransferId start(int route, double bytes) override {
    const TransferId id = next_++;
    const double whole = std::round(bytes);
    if (whole <= 0) {
      ended_.push_back(id);
      return id;
    }
    const auto [queue, cap] = routes_[route];
    note_change(queue);
    queues_[queue].start(id, cap, whole, now_);
    return id;
  }

  void set_rate_factor(LinkId link, double factor) override {
    const int queue = queue_of_[link];
    if (queue < 0) return;
    note_change(queue);
    queues_[queue].set_rate(links_[link].rate.bytes_per_second * factor, now_);
  }

  std::vector<TransferId> advance(Seconds until) override {
    share_changed();
    if (ended_.empty()) pass_time(until.value);
    std::vector<TransferId> ended;
    ended.swap(ended_);
    if (!std::ranges::is_sorted(ended)) std::ranges::sort(ended);  // they mostly are
    return ended;
  }

 private:
  struct NextEnd {
    double when = 0;
    int queue = 0;
    int version = 0;  // of the queue when this was said; older ones are void
    // Those of one instant are taken together, in whatever order.
    bool operator>(const NextEnd& other) const { return when > other.when; }
  };

  void note_change(int queue) {
    if (!queues_[queue].awaits_share()) changed_.push_back(queue);
  }

  // Once per queue and instant, however many transfers started or ended there.
  void share_changed() {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      if (i + kQueuesAhead < changed_.size()) fetch(changed_[i + kQueuesAhead]);
      const int queue = changed_[i];
      queues_[queue].share();
      const double next = queues_[queue].next_end();
      ++versions_[queue];
      if (!std::isinf(next)) ends_.push({next, queue, versions_[queue]});
    }
    changed_.clear();
  }

  void pass_time(double until) {
    drop_void();
    if (ends_.empty() || ends_.top().when > until) {
      now_ = until;
      return;
    }
    now_ = std::max(now_, ends_.top().when);
    for (; !ends_.empty() && ends_.top().when <= now_ + kSameInstant; drop_void()) {
      if (const NextEnd* const soon = ends_.soon()) fetch(soon->queue);
      const int queue = ends_.top().queue;
      ends_.pop();
      queues_[queue].take_ended(now_, ended_);
      if (queues_[queue].awaits_share()) changed_.push_back(queue);
    }
  }

  // A queue that has its turn soon: no cache holds all of them, and they come in no order that a processor foresees.
  void fetch(int queue) const {
    const char* const begin = reinterpret_cast<const char*>(&queues_[queue]);
    for (std::size_t at = 0; at < sizeof(FairLink); at += kLineOfCache) __builtin_prefetch(begin + at, 1);
    __builtin_prefetch(&versions_[queue], 1);
  }

  void drop_void() {
    while (!ends_.empty() && ends_.top().version != versions_[ends_.top().queue]) ends_.pop();
  }

  const std::vector<Link>& links_;
  // All that a start asks of its route lies in one place: a large world starts millions of transfers, and each list
  // that it has to look into is a wait for memory.
  struct Route {
    int queue = 0;
    double cap = 0;  // infinite: none
  };
  std::vector<Route> routes_;
  std::vector<int> queue_of_;  // [link], -1: no route uses it
  std::vector<FairLink> queues_;
  std::vector<int> versions_;  // [queue]
  std::vector<int> changed_;   // queues that have to share anew
  Earliest<NextEnd> ends_;
  std::vector<TransferId> ended_;
  double now_ = 0;
  TransferId next_ = 0;
};

class FairQueues : public Network {
 public:
  // Sharing over several links at once is SimGrid's.
  void run(const std::vector<Link>& links, const std::vector<TransferRoute>& routes,
           const std::function<void(NetworkSession&)>& body) override {
    const bool separable = std::ranges::all_of(routes, [](const TransferRoute& r) { return r.links.size() == 1; });
    if (!separable) return make_network(named_map("simgrid"))->run(links, routes, body);
    FairQueuesSession session(links, routes);
    body(session);
  }
};

}  // namespace

std::unique_ptr<Network> make_fair_queues(MapReader&) {
  return std::make_unique<FairQueues>();
}

}  // namespace shardsim
