#include <signal.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <simgrid/s4u.hpp>
#include <string>

#include "sim/engine/network.h"

namespace shardsim {
namespace {

namespace sg = simgrid::s4u;

// SimGrid's settings, and why (docs/architecture.md, "The event engine"):
//  CM02, cross-traffic off   plain max-min sharing; the default TCP model and acknowledgement traffic add 5 to 9 %
//  TCP-gamma 0               no window limit on a transfer's rate
//  surf, maxmin precision    completion times exact to about 1e-9 relative; the defaults round at 1e-5
//  stack-size                every transfer is a tiny actor
constexpr const char* kSettings[] = {
    "network/model:CM02",    "network/crosstraffic:0", "network/TCP-gamma:0",    "surf/precision:1e-12",
    "maxmin/precision:1e-9", "contexts/guard-size:0",  "contexts/stack-size:32",
};

// SimGrid takes over Ctrl-C and leaves the process from inside its handler, whatever the heap is doing then. What the
// process had decided about Ctrl-C holds.
class KeptInterrupt {
 public:
  KeptInterrupt() { sigaction(SIGINT, nullptr, &before_); }
  ~KeptInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  KeptInterrupt(const KeptInterrupt&) = delete;
  KeptInterrupt& operator=(const KeptInterrupt&) = delete;

 private:
  struct sigaction before_ {};
};

// One engine per process: SimGrid keeps its engine in globals.
std::unique_ptr<sg::Engine> make_engine() {
  std::string name = "shardsim";
  std::string quiet = "--log=root.thres:error";
  char* arguments[] = {name.data(), quiet.data(), nullptr};
  int count = 2;
  const KeptInterrupt kept;
  auto engine = std::make_unique<sg::Engine>(&count, arguments);
  for (const char* setting : kSettings) sg::Engine::set_config(setting);
  return engine;
}

// The links as a star: one source host per route, whose way out is that route's links, and one sink behind no link at
// all. A cap is a link of its own, which each transfer has for itself (a fat pipe). So the platform grows with the
// number of routes, not with its square, and any list of links is a route.
class Platform {
 public:
  Platform(const std::vector<Link>& links, const std::vector<TransferRoute>& routes) {
    zone_ = sg::create_star_zone("cluster");
    sink_ = zone_->create_host("sink", 1.0);
    zone_->add_route(sink_->get_netpoint(), nullptr, nullptr, nullptr, {}, false);
    zone_->add_route(nullptr, sink_->get_netpoint(), nullptr, nullptr, {}, false);
    for (const Link& link : links) {
      const std::string name = "link" + std::to_string(links_.size());
      links_.push_back(add_link(name, link.rate, sg::Link::SharingPolicy::SHARED));
    }
    for (const TransferRoute& route : routes) add_source(route);
    zone_->seal();
  }

  sg::Host* source(int route) const { return sources_[route]; }
  sg::Host* sink() const { return sink_; }
  sg::Link* link(LinkId id) const { return links_[id]; }

 private:
  sg::Link* add_link(const std::string& name, Bandwidth rate, sg::Link::SharingPolicy policy) {
    sg::Link* link = zone_->create_link(name, rate.bytes_per_second);
    link->set_sharing_policy(policy);
    link->set_latency(0.0);  // latencies are part of a collective's start (models/collective/collective.h)
    link->seal();
    return link;
  }

  void add_source(const TransferRoute& route) {
    const std::string name = "route" + std::to_string(sources_.size());
    std::vector<sg::LinkInRoute> way;
    for (LinkId id : route.links) way.emplace_back(links_[id]);
    if (route.cap.bytes_per_second > 0)
      way.emplace_back(add_link(name + "/cap", route.cap, sg::Link::SharingPolicy::FATPIPE));
    sg::Host* host = zone_->create_host(name, 1.0);
    zone_->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, way, false);
    sources_.push_back(host);
  }

  sg::NetZone* zone_ = nullptr;
  sg::Host* sink_ = nullptr;
  std::vector<sg::Link*> links_;
  std::vector<sg::Host*> sources_;
};

class SimgridSession : public NetworkSession {
 public:
  SimgridSession(const Platform& platform, const std::vector<Link>& links, const std::vector<TransferRoute>& routes)
      : platform_(platform), links_(links), routes_(routes), factors_(links.size(), 1.0) {}

  Seconds now() const override { return {sg::Engine::get_clock()}; }

  // An actor per transfer, blocked in it: SimGrid 3.32 scans all asynchronous transfers of one actor at each
  // completion, which is quadratic in their number.
  TransferId start(int route, double bytes) override {
    const TransferId id = next_++;
    sg::Actor::create("transfer", platform_.sink(), [this, id, route, bytes] {
      move(route, bytes);
      ended_.push_back(id);
      wake_->release();
    });
    return id;
  }

  void set_rate_factor(LinkId link, double factor) override {
    const std::scoped_lock one_at_a_time(*rates_);
    factors_[link] = factor;
    set_rate(link, factor);
  }

  std::vector<TransferId> advance(Seconds until) override {
    if (!wait(until)) return {};
    sg::this_actor::yield();  // lets transfers that end at this very instant report, too
    std::vector<TransferId> ended;
    ended.swap(ended_);
    while (wake_->get_capacity() > 0) wake_->acquire();
    return ended;
  }

 private:
  // True when a transfer ended before `until`.
  bool wait(Seconds until) {
    if (std::isinf(until.value)) {
      wake_->acquire();
      return true;
    }
    const double left = until.value - now().value;
    if (left <= 0 && wake_->get_capacity() == 0) return false;
    return !wake_->acquire_timeout(left > 0 ? left : 0);
  }

  // SimGrid counts whole bytes; half a byte is 2e-11 s on the slowest link in use.
  void move(int route, double bytes) {
    const auto size = static_cast<uint64_t>(std::llround(bytes));
    if (size == 0) return;
    auto transfer = sg::Comm::sendto_init();
    transfer->set_payload_size(size);
    transfer->set_source(platform_.source(route));
    start(*transfer, routes_[route]);
    transfer->wait();
  }

  // SimGrid holds a transfer for good to the rate that its links have when it starts. So it starts at their full rate,
  // and they are as they were before any time passes.
  void start(sg::Comm& transfer, const TransferRoute& route) {
    const std::scoped_lock one_at_a_time(*rates_);
    for (const LinkId link : route.links) set_rate(link, 1.0);
    transfer.set_destination(platform_.sink());  // starts it
    for (const LinkId link : route.links) set_rate(link, factors_[link]);
  }

  void set_rate(LinkId link, double factor) {
    const double rate = links_[link].rate.bytes_per_second * factor;
    if (platform_.link(link)->get_bandwidth() != rate) platform_.link(link)->set_bandwidth(rate);
  }

  const Platform& platform_;
  const std::vector<Link>& links_;
  const std::vector<TransferRoute>& routes_;
  std::vector<double> factors_;               // by link
  sg::MutexPtr rates_ = sg::Mutex::create();  // held while rates change
  sg::SemaphorePtr wake_ = sg::Semaphore::create(0);
  std::vector<TransferId> ended_;
  TransferId next_ = 0;
};

void run_simgrid(const std::vector<Link>& links, const std::vector<TransferRoute>& routes,
                 const std::function<void(NetworkSession&)>& body) {
  const auto engine = make_engine();
  const Platform platform(links, routes);
  std::exception_ptr failure;
  sg::Actor::create("driver", platform.sink(), [&] {
    try {
      SimgridSession session(platform, links, routes);
      body(session);
    } catch (const simgrid::ForcefulKillException&) {
      throw;
    } catch (...) {
      failure = std::current_exception();
    }
    sg::Actor::kill_all();
  });
  engine->run();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

}  // namespace shardsim

// The one function of this module that others know (sim/engine/networks/simgrid.cpp).
extern "C" void shardsim_simgrid_run(const std::vector<shardsim::Link>& links,
                                     const std::vector<shardsim::TransferRoute>& routes,
                                     const std::function<void(shardsim::NetworkSession&)>& body) {
  shardsim::run_simgrid(links, routes, body);
}
