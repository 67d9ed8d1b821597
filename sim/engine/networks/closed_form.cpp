#include <algorithm>
#include <limits>

#include "sim/engine/earliest.h"
#include "sim/engine/network.h"

namespace shardsim {
namespace {

// Every transfer as if it were alone: bytes / min(cap, narrowest link). No contention, so no engine either.
class ClosedFormSession : public NetworkSession {
 public:
  ClosedFormSession(const std::vector<Link>& links, const std::vector<TransferRoute>& routes)
      : routes_(routes), factors_(links.size(), 1.0) {
    for (const Link& link : links) rates_.push_back(link.rate.bytes_per_second);
    rate_of_.reserve(routes.size());
    for (const TransferRoute& route : routes) rate_of_.push_back(rate(route));
  }

  Seconds now() const override { return now_; }

  TransferId start(int route, double bytes) override {
    const double when = now_.value + bytes / (slowed_ ? rate(routes_[route]) : rate_of_[route]);
    if (when != latest_.when) take_latest();
    if (latest_.count++ == 0) latest_ = {when, next_, 1};
    return next_++;
  }

  void set_rate_factor(LinkId link, double factor) override {
    factors_[link] = factor;
    slowed_ = true;
  }

  std::vector<TransferId> advance(Seconds until) override {
    take_latest();
    std::vector<TransferId> ended;
    if (ends_.empty() || ends_.top().when > until.value) {
      now_ = until;
      return ended;
    }
    now_ = {ends_.top().when};
    for (; !ends_.empty() && ends_.top().when <= now_.value; ends_.pop()) {
      for (int i = 0; i < ends_.top().count; ++i) ended.push_back(ends_.top().first + i);
    }
    return ended;
  }

 private:
  // The common end of transfers that started one after the other and end together, as those on the like ports of a node
  // do.
  struct End {
    double when = 0;
    TransferId first = 0;
    int count = 0;
    bool operator>(const End& other) const { return when != other.when ? when > other.when : first > other.first; }
  };

  void take_latest() {
    if (latest_.count > 0) ends_.push(latest_);
    latest_.count = 0;
  }

  double rate(const TransferRoute& route) const {
    double narrowest = std::numeric_limits<double>::infinity();
    if (route.cap.bytes_per_second > 0) narrowest = route.cap.bytes_per_second;
    for (LinkId link : route.links) narrowest = std::min(narrowest, rates_[link] * factors_[link]);
    return narrowest;
  }

  const std::vector<TransferRoute>& routes_;
  std::vector<double> rates_;
  std::vector<double> factors_;
  std::vector<double> rate_of_;  // [route] where no factor was ever set
  bool slowed_ = false;
  Earliest<End> ends_;
  End latest_;  // may still become more
  Seconds now_;
  TransferId next_ = 0;
};

class ClosedForm : public Network {
 public:
  void run(const std::vector<Link>& links, const std::vector<TransferRoute>& routes,
           const std::function<void(NetworkSession&)>& body) override {
    ClosedFormSession session(links, routes);
    body(session);
  }
  bool is_uncontended() const override { return true; }
};

}  // namespace

std::unique_ptr<Network> make_closed_form(MapReader&) {
  return std::make_unique<ClosedForm>();
}

}  // namespace shardsim
