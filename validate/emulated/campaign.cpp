#include "validate/emulated/campaign.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "validate/emulated/campaign_builder.h"

namespace shardsim {
namespace {

void p2p_intra(CampaignBuilder& build, std::int64_t n) {
  build.send(n, {{0, 1}});
}

void p2p_inter(CampaignBuilder& build, std::int64_t n) {
  build.send(n, {{0, build.per_node()}});
}

void bidir_inter(CampaignBuilder& build, std::int64_t n) {
  build.send(n, {{0, build.per_node()}, {build.per_node(), 0}});
}

void a2a_direct(CampaignBuilder& build, std::int64_t n) {
  build.all_to_all("world", n);
}

void a2a_pairwise(CampaignBuilder& build, std::int64_t n) {
  build.pairwise([n](int) { return n; });
}

// What rank r sends to each other one, as a share of the size argument.
double skew(int rank) {
  constexpr std::array kWeights = {2.0, 0.5, 1.0, 1.5, 0.25, 1.0, 0.75, 1.0};
  return kWeights[static_cast<std::size_t>(rank) % kWeights.size()];
}

std::int64_t skewed(int rank, std::int64_t n) {
  return whole_blocks(static_cast<std::int64_t>(static_cast<double>(n) * skew(rank)));
}

void a2av_direct(CampaignBuilder& build, std::int64_t n) {
  build.uneven([n](int from, int) { return skewed(from, n); });
}

void a2av_pairwise(CampaignBuilder& build, std::int64_t n) {
  build.pairwise([n](int from) { return skewed(from, n); });
}

void intra_a2a(CampaignBuilder& build, std::int64_t n) {
  build.all_to_all("node", n);
}

void ring_ar(CampaignBuilder& build, std::int64_t n) {
  build.reduce(OpClass::all_reduce, "world", n);
}

void xnode_ar(CampaignBuilder& build, std::int64_t n) {
  build.reduce(OpClass::all_reduce, "cross_node", n);
}

void hier_ar(CampaignBuilder& build, std::int64_t n) {
  build.reduce(OpClass::reduce_scatter, "node", n);
  build.reduce(OpClass::all_reduce, "cross_node", n / build.per_node());
  build.reduce(OpClass::all_gather, "node", n);
}

void hier_a2a(CampaignBuilder& build, std::int64_t n) {
  build.all_to_all("node", n * build.nodes());
  build.all_to_all("cross_node", n * build.per_node());
}

void incast_inter(CampaignBuilder& build, std::int64_t n) {
  const int per_node = build.per_node();
  build.uneven([n, per_node](int from, int to) { return to == 0 && from >= per_node ? n : 0; });
}

void incast_all(CampaignBuilder& build, std::int64_t n) {
  build.uneven([n](int, int to) { return to == 0 ? n : 0; });
}

void ovl_disjoint(CampaignBuilder& build, std::int64_t n) {
  build.all_to_all("node", n);
  build.on_second_stream();
  build.reduce(OpClass::all_reduce, "cross_node", n / 4);
}

void ovl_contend(CampaignBuilder& build, std::int64_t n) {
  build.all_to_all("world", n);
  build.on_second_stream();
  build.reduce(OpClass::all_reduce, "cross_node", 4 * n);
}

struct Entry {
  std::string_view name;
  void (*fill)(CampaignBuilder&, std::int64_t);
};

constexpr std::array kEntries = std::to_array<Entry>({
    {"a2a_direct", a2a_direct},
    {"a2a_pairwise", a2a_pairwise},
    {"a2av_direct", a2av_direct},
    {"a2av_pairwise", a2av_pairwise},
    {"bidir_inter", bidir_inter},
    {"hier_a2a", hier_a2a},
    {"hier_ar", hier_ar},
    {"incast_all", incast_all},
    {"incast_inter", incast_inter},
    {"intra_a2a", intra_a2a},
    {"ovl_contend", ovl_contend},
    {"ovl_disjoint", ovl_disjoint},
    {"p2p_inter", p2p_inter},
    {"p2p_intra", p2p_intra},
    {"ring_ar", ring_ar},
    {"xnode_ar", xnode_ar},
});

const Entry& entry_named(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry;
  }
  throw input_error({"campaign item"}, fmt::format("there is no item {}", excerpt(name)),
                    known_names_hint(name, campaign_names()));
}

struct Wanted {
  std::string_view name;
  std::int64_t bytes;
  JudgedAs judged;
};

std::vector<CampaignItem> items_of(const NodeShape& shape, std::initializer_list<Wanted> wanted) {
  std::vector<CampaignItem> items;
  for (const Wanted& want : wanted) {
    items.push_back({std::string(want.name), want.bytes, want.judged, campaign_program(want.name, want.bytes, shape)});
  }
  return items;
}

}  // namespace

std::string_view judged_as_name(JudgedAs judged) {
  constexpr std::array<std::string_view, 5> kNames = {"guard", "NIC-bound", "fast/mixed", "fault", "reported"};
  return kNames[static_cast<std::size_t>(judged)];
}

Band band_of(JudgedAs judged) {
  if (judged == JudgedAs::nic_bound) return {-0.05, 0.03};
  if (judged == JudgedAs::fast_or_mixed) return {-0.10, 0.03};
  if (judged == JudgedAs::fault) return {-0.12, 0.12};
  constexpr double kAny = std::numeric_limits<double>::infinity();
  return {-kAny, kAny};
}

std::string CampaignItem::label() const {
  return fmt::format("{} {}", name, to_text(Bytes{bytes}));
}

std::vector<std::string> campaign_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

Program campaign_program(std::string_view name, std::int64_t bytes, const NodeShape& shape) {
  const Entry& entry = entry_named(name);
  if (shape.nodes < 2 || shape.ranks_per_node < 2) {
    throw input_error({"campaign item"},
                      fmt::format("{} nodes of {} ranks are too few", shape.nodes, shape.ranks_per_node),
                      "Give 2 nodes of 2 ranks or more");
  }
  CampaignBuilder build(shape);
  entry.fill(build, bytes);
  return build.program(std::string(name));
}

std::vector<CampaignItem> guard_items(const NodeShape& shape) {
  return items_of(shape, {{"p2p_intra", 64 * kKiB, JudgedAs::guard},
                          {"p2p_intra", kMiB, JudgedAs::guard},
                          {"p2p_inter", 64 * kKiB, JudgedAs::guard},
                          {"p2p_inter", 256 * kKiB, JudgedAs::guard}});
}

std::vector<CampaignItem> gated_items(const NodeShape& shape) {
  return items_of(shape, {{"a2a_direct", 128 * kKiB, JudgedAs::nic_bound},
                          {"a2a_pairwise", 128 * kKiB, JudgedAs::nic_bound},
                          {"a2av_direct", 128 * kKiB, JudgedAs::nic_bound},
                          {"ring_ar", 128 * kKiB, JudgedAs::nic_bound},
                          {"xnode_ar", 128 * kKiB, JudgedAs::nic_bound},
                          {"hier_a2a", 128 * kKiB, JudgedAs::nic_bound},
                          {"incast_inter", 128 * kKiB, JudgedAs::nic_bound},
                          {"ovl_contend", 128 * kKiB, JudgedAs::nic_bound},
                          {"hier_ar", kMiB, JudgedAs::fast_or_mixed},
                          {"intra_a2a", kMiB, JudgedAs::fast_or_mixed},
                          {"ovl_disjoint", kMiB, JudgedAs::fast_or_mixed},
                          {"a2av_pairwise", 128 * kKiB, JudgedAs::reported}});
}

std::vector<CampaignItem> straggler_items(const NodeShape& shape) {
  return items_of(shape, {{"a2a_direct", 128 * kKiB, JudgedAs::fault},
                          {"ring_ar", 128 * kKiB, JudgedAs::fault},
                          {"xnode_ar", 128 * kKiB, JudgedAs::fault},
                          {"hier_a2a", 128 * kKiB, JudgedAs::fault},
                          {"incast_inter", 128 * kKiB, JudgedAs::fault},
                          {"hier_ar", kMiB, JudgedAs::fault}});
}

}  // namespace shardsim
