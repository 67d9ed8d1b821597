#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <sstream>

#include "base/rng.h"
#include "tests/physics/lab.h"

namespace shardsim::transfers_test {

// The promises of every Network (sim/engine/network.h), checked on the network itself. Expected times are bytes over
// rate, by hand.

using namespace shardsim::physics;

namespace {

constexpr double kGigabyte = 1e9;
constexpr double kForever = std::numeric_limits<double>::infinity();

struct Setting {
  std::vector<double> link_rates;  // GB/s
  struct Way {
    std::vector<LinkId> links;
    double cap = 0;  // GB/s; 0: none
  };
  std::vector<Way> ways;
  struct Start {
    double at = 0;  // s; rising
    int way = 0;
    double gigabytes = 0;
  };
  std::vector<Start> starts;
};

using Change = std::function<void(NetworkSession&, double now)>;

// When each transfer ends, in seconds.
std::vector<double> run(const Setting& setting, const std::string& name, const Change& change = {}) {
  std::vector<Link> links;
  for (double rate : setting.link_rates) links.push_back({LinkKind::nic_out, {rate * kGigabyte}});
  std::vector<TransferRoute> routes;
  for (const Setting::Way& way : setting.ways)
    routes.push_back({{way.links.begin(), way.links.end()}, {way.cap * kGigabyte}});
  std::vector<double> ends(setting.starts.size(), -1);
  make_network(named(name))->run(links, routes, [&](NetworkSession& session) {
    std::vector<TransferId> ids;
    for (std::size_t begun = 0;;) {
      while (begun < setting.starts.size() && setting.starts[begun].at <= session.now().value) {
        ids.push_back(session.start(setting.starts[begun].way, setting.starts[begun].gigabytes * kGigabyte));
        ++begun;
      }
      const bool more = begun < setting.starts.size();
      const Seconds until{more ? setting.starts[begun].at : kForever};
      for (TransferId ended : session.advance(until)) {
        ends[std::find(ids.begin(), ids.end(), ended) - ids.begin()] = session.now().value;
      }
      if (session.now().value > until.value) throw std::logic_error("the clock passed `until`");
      if (change) change(session, session.now().value);
      if (!more && std::find(ends.begin(), ends.end(), -1) == ends.end()) return;
    }
  });
  return ends;
}

std::vector<double> ends_of(const Setting& setting, const std::string& name, const Change& change = {}) {
  const std::string text = in_process([&] {
    std::string line;
    for (double end : run(setting, name, change)) line += std::to_string(std::bit_cast<std::uint64_t>(end)) + " ";
    return line;
  });
  std::istringstream words(text);
  std::vector<double> ends;
  for (std::uint64_t word = 0; words >> word;) ends.push_back(std::bit_cast<double>(word));
  return ends;
}

void check_ends(const std::vector<double>& ends, const std::vector<double>& expected) {
  REQUIRE(ends.size() == expected.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CAPTURE(i);
    CHECK(off(ends[i], expected[i]) <= 1e-9);
  }
}

// Networks that share links fairly.
void check_fair(const Setting& setting, const std::vector<double>& expected, const Change& change = {}) {
  for (const std::string name : {"simgrid", "fair_queues"}) {
    CAPTURE(name);
    check_ends(ends_of(setting, name, change), expected);
  }
}

}  // namespace

TEST_CASE("a transfer alone takes its bytes over the narrowest link or its cap") {
  for (const std::string name : {"simgrid", "fair_queues", "closed_form"}) {
    CAPTURE(name);
    check_ends(ends_of({{25}, {{{0}}}, {{0, 0, 1}}}, name), {0.04});
    check_ends(ends_of({{25, 10, 50}, {{{0, 1, 2}}}, {{0, 0, 1}}}, name), {0.1});
    check_ends(ends_of({{25}, {{{0}, 5}}, {{0, 0, 1}}}, name), {0.2});
    check_ends(ends_of({{25}, {{{0}, 100}}, {{0, 0, 1}}}, name), {0.04});
    check_ends(ends_of({{25}, {{{0}}}, {{0.5, 0, 1}}}, name), {0.54});
  }
}

TEST_CASE("equal transfers share a link equally: 1 GB and 1 GB over 25 GB/s both end at 80 ms") {
  check_fair({{25}, {{{0}}}, {{0, 0, 1}, {0, 0, 1}}}, {0.08, 0.08});
  // Thirty at once: each has a thirtieth.
  Setting thirty{{25}, {{{0}}}, {}};
  for (int i = 0; i < 30; ++i) thirty.starts.push_back({0, 0, 1});
  check_fair(thirty, std::vector<double>(30, 1.2));
}

TEST_CASE("what a short transfer leaves goes to the long one") {
  // 12.5 GB/s each until 80 ms; then 2 GB are left for the whole link.
  check_fair({{25}, {{{0}}}, {{0, 0, 1}, {0, 0, 3}}}, {0.08, 0.16});
  // The second starts when half of the first has gone: both halves take twice as long.
  check_fair({{25}, {{{0}}}, {{0, 0, 1}, {0.02, 0, 1}}}, {0.06, 0.08});
}

TEST_CASE("sharing is max-min fair over several links") {
  // Link 0 of 10 GB/s is split 5 and 5; link 1 of 20 GB/s leaves 15 to its second user.
  const Setting chain{{10, 20}, {{{0, 1}}, {{0}}, {{1}}}, {{0, 0, 1}, {0, 1, 1}, {0, 2, 3}}};
  check_fair(chain, {0.2, 0.2, 0.2});
}

TEST_CASE("a cap limits one transfer and leaves the rest of the link to the others") {
  const Setting capped{{25}, {{{0}, 5}, {{0}}}, {{0, 0, 1}, {0, 1, 4}}};
  check_fair(capped, {0.2, 0.2});
}

TEST_CASE("two transfers over the same capped route do not share the cap of one") {
  // Each may draw 5 GB/s; together they stay below the link's 25.
  const Setting one_route{{25}, {{{0}, 5}}, {{0, 0, 1}, {0, 0, 1}}};
  check_fair(one_route, {0.2, 0.2});
  const Setting twice{{25}, {{{0}, 5}, {{0}, 5}}, {{0, 0, 1}, {0, 1, 1}}};
  check_fair(twice, {0.2, 0.2});
}

TEST_CASE("caps are filled from the narrowest on") {
  // 24 GB/s: 2 for the first; 6 and then what is left, 8 each, for two of three without one.
  const Setting three_caps{{24}, {{{0}, 2}, {{0}, 6}, {{0}}}, {{0, 0, 1}, {0, 1, 3}, {0, 2, 4}, {0, 2, 4}}};
  check_fair(three_caps, {0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("transfers of no whole byte end at once") {
  check_fair({{25}, {{{0}}}, {{0.5, 0, 0.4e-9}, {0.5, 0, 1}}}, {0.5, 0.54});
}

TEST_CASE("what ends at one instant is reported together, by rising transfer") {
  std::vector<Link> links;
  std::vector<TransferRoute> routes;
  for (int link = 0; link < 3; ++link) {
    links.push_back({LinkKind::nic_out, {25 * kGigabyte}});
    routes.push_back({{link}, {}});
  }
  make_network(named("fair_queues"))->run(links, routes, [&](NetworkSession& session) {
    const TransferId first = session.start(2, kGigabyte);
    for (const int route : {1, 0, 2}) session.start(route, kGigabyte * (route == 2 ? 2 : 1));
    CHECK(session.advance({kForever}) == std::vector<TransferId>{first + 1, first + 2});
    CHECK(session.now().value == 0.04);
    CHECK(session.advance({kForever}) == std::vector<TransferId>{first});
    CHECK(session.advance({0.1}).empty());
    CHECK(session.now().value == 0.1);
    CHECK(session.advance({kForever}) == std::vector<TransferId>{first + 3});
  });
}

// 200,000 transfers, two at a time: the link moves 10 GB/s throughout, and is done when all bytes are through.
TEST_CASE("a link that is never idle is exact at the end of a long run") {
  const std::vector<Link> links = {{LinkKind::nic_out, {10 * kGigabyte}}};
  const std::vector<TransferRoute> routes = {{{0}, {}}};
  make_network(named("fair_queues"))->run(links, routes, [&](NetworkSession& session) {
    double bytes = 0;
    int started = 0, moving = 0;
    const auto start = [&] {
      const double size = 1e6 + 1000 * (started % 7);
      session.start(0, size);
      bytes += size;
      ++started;
      ++moving;
    };
    for (start(), start(); moving > 0;) {
      for (std::size_t ended = session.advance({kForever}).size(); ended > 0; --ended) {
        --moving;
        if (started < 200'000) start();
      }
    }
    CHECK(off(session.now().value, bytes / (10 * kGigabyte)) <= 1e-11);
  });
}

TEST_CASE("the closed form lets nobody wait for another") {
  check_ends(ends_of({{25}, {{{0}}}, {{0, 0, 1}, {0, 0, 3}}}, "closed_form"), {0.04, 0.12});
}

TEST_CASE("a link at half rate takes twice as long for what is left") {
  // 0.5 GB in the first 20 ms, the other half at 12.5 GB/s. A marker of no link's length stops the clock at 20 ms.
  const Setting setting{{25, 1}, {{{0}}, {{1}}}, {{0, 0, 1}, {0.02, 1, 0.001}}};
  const Change halve = [](NetworkSession& session, double now) {
    if (now == 0.02) session.set_rate_factor(0, 0.5);
  };
  check_fair(setting, {0.06, 0.021}, halve);
}

// Starts at any time, of any size, at caps and rates that change: nothing is left of SimGrid but its times.
TEST_CASE("random transfers end when they end on SimGrid") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    const auto one_to = [&](std::uint64_t most) { return static_cast<double>(1 + rng.below(most)); };
    Setting setting{{one_to(30), one_to(30), one_to(30)}, {}, {}};
    for (int way = 0; way < 9; ++way) setting.ways.push_back({{way % 3}, way < 3 ? 0 : one_to(20) / 2});
    for (double at = 0; setting.starts.size() < 60; at += rng.below(3) == 0 ? one_to(50) * 1e-3 : 0)
      setting.starts.push_back({at, static_cast<int>(rng.below(9)), one_to(1000) * 1e-3});
    const Change change = [&](NetworkSession& session, double now) {
      const auto begun = std::ranges::count_if(setting.starts, [&](const auto& s) { return s.at <= now + 1e-9; });
      for (LinkId link = 0; link < 3; ++link)
        session.set_rate_factor(link, 1.0 / static_cast<double>(1 + (begun + link) % 3));
    };
    check_ends(ends_of(setting, "fair_queues", change), ends_of(setting, "simgrid", change));
  }
}

TEST_CASE("a transfer that starts on a slow link is faster once the link is") {
  // 6.25 GB in half a second at 12.5 GB/s, the rest at 25. A marker on another link stops the clock at 0.75 s.
  const Setting setting{{25, 1}, {{{0}}, {{1}}}, {{0.25, 0, 12.5}, {0.75, 1, 0.001}}};
  const Change half_at_first = [](NetworkSession& session, double now) {
    session.set_rate_factor(0, now < 0.75 ? 0.5 : 1.0);
  };
  check_fair(setting, {1.0, 0.751}, half_at_first);
}

TEST_CASE("byte counts of any size keep the ratio of bytes to time") {
  for (double gigabytes : {1e-6, 1e-3, 1.0, 1e3, 1e6}) {
    CAPTURE(gigabytes);
    for (const std::string name : {"simgrid", "fair_queues"}) {
      const auto ends = ends_of({{25}, {{{0}}}, {{0, 0, gigabytes}, {0, 0, gigabytes}}}, name);
      CHECK(off(ends[0], 2 * gigabytes / 25) <= 1e-8);
    }
  }
}

}  // namespace shardsim::transfers_test
