#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "base/rng.h"
#include "sim/engine/earliest.h"
#include "sim/engine/networks/fair_link.h"

namespace shardsim {
namespace {

constexpr std::size_t kQueuesAhead = 8;  // that are fetched from memory before their turn: no cache holds all of them
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
    queues_.reserve(in_use.size());
    for (const LinkId link : in_use) queues_.emplace_back(links[link].rate.bytes_per_second);
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
    queues_[queue].link.start(id, cap, whole, now_);
    return id;
  }

  void set_rate_factor(LinkId link, double factor) override {
    const int queue = queue_of_[link];
    if (queue < 0) return;
    note_change(queue);
    queues_[queue].link.set_rate(links_[link].rate.bytes_per_second * factor, now_);
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
  // A link that transfers load, in one line of cache.
  struct alignas(kLineOfCache) Queue {
    explicit Queue(double rate) : link(rate) {}
    FairLink link;
    int version = 0;  // of what was said of its next end
  };
  // Queues whose next transfers end at one time. The links of a collective do so by the thousand: they wait for their
  // turn as one, and have it one after the other as they lie in memory.
  struct NextEnd {
    double when = 0;
    int first = 0;  // in places_
    // Those of one instant are taken together, in whatever order.
    bool operator>(const NextEnd& other) const { return when > other.when; }
  };
  struct Place {
    int queue = 0;
    int version = 0;  // of the queue when this was said; older ones are void
    int next = -1;    // in places_; -1: none
  };
  // Ends that were said last: those of one time are joined while they are here.
  struct Open {
    double when = 0;
    int first = -1, last = -1;
  };

  void note_change(int queue) {
    if (!queues_[queue].link.awaits_share()) changed_.push_back(queue);
  }

  // Once per queue and instant, however many transfers started or ended there.
  void share_changed() {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      if (i + kQueuesAhead < changed_.size()) __builtin_prefetch(&queues_[changed_[i + kQueuesAhead]], 1);
      Queue& queue = queues_[changed_[i]];
      queue.link.share();
      const double next = queue.link.next_end();
      ++queue.version;
      if (!std::isinf(next)) join(next, take_place({changed_[i], queue.version}));
    }
    changed_.clear();
    for (Open& open : open_) close(open);
  }

  int take_place(const Place& place) {
    if (free_ < 0) {
      places_.push_back(place);
      return static_cast<int>(places_.size()) - 1;
    }
    const int taken = free_;
    free_ = std::exchange(places_[taken], place).next;
    return taken;
  }

  void join(double when, int place) {
    Open& open = open_[mix(std::bit_cast<std::uint64_t>(when), kGolden) % open_.size()];
    if (open.first >= 0 && open.when == when) {
      places_[std::exchange(open.last, place)].next = place;
      return;
    }
    close(open);
    open = {when, place, place};
  }

  void close(Open& open) {
    if (open.first >= 0) ends_.push({open.when, open.first});
    open = {};
  }

  void pass_time(double until) {
    drop_void();
    if (ends_.empty() || ends_.top().when > until) {
      now_ = until;
      return;
    }
    now_ = std::max(now_, ends_.top().when);
    for (; !ends_.empty() && ends_.top().when <= now_ + kSameInstant; drop_void()) {
      const int first = ends_.top().first;
      ends_.pop();
      end_all(first);
    }
  }

  void end_all(int first) {
    int soon = first;
    for (std::size_t i = 0; i < kQueuesAhead && soon >= 0; ++i) soon = places_[soon].next;
    for (int place = first; place >= 0; place = leave(place)) {
      if (soon >= 0) {
        __builtin_prefetch(&queues_[places_[soon].queue], 1);
        soon = places_[soon].next;
      }
      end_at(places_[place]);
    }
  }

  void end_at(const Place& place) {
    Queue& queue = queues_[place.queue];
    if (queue.version != place.version) return;
    queue.link.take_ended(now_, ended_);
    if (queue.link.awaits_share()) changed_.push_back(place.queue);
  }

  // Returns the place after this one, which is free from now on.
  int leave(int place) {
    const int next = std::exchange(places_[place].next, free_);
    free_ = place;
    return next;
  }

  bool is_void(const Place& place) const { return queues_[place.queue].version != place.version; }

  // Afterwards neither the front entry nor the first place of its link is void.
  void drop_void() {
    while (!ends_.empty()) {
      const int first = ends_.top().first;
      while (is_void(places_[first]) && places_[first].next >= 0) {
        const int next = places_[first].next;
        places_[first] = places_[next];
        leave(next);
      }
      if (!is_void(places_[first])) return;
      leave(first);
      ends_.pop();
    }
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
  std::vector<Queue> queues_;
  std::vector<int> changed_;  // queues that have to share anew
  std::array<Open, 64> open_{};
  std::vector<Place> places_;
  int free_ = -1;  // the first of those that are free, each of which says the next one
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
