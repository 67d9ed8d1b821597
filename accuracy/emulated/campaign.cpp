#include "accuracy/emulated/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace shardsim {
namespace {

// The one that is `nodes` nodes and `places` places further on.
int shifted(int rank, int nodes, int places, const NodeShape& shape) {
  const int node = (rank / shape.ranks_per_node + nodes) % shape.nodes;
  return node * shape.ranks_per_node + (rank % shape.ranks_per_node + places) % shape.ranks_per_node;
}

// Rounded down to a multiple of 64 bytes, at least 64: what one rank sends in one step.
std::int64_t whole_blocks(std::int64_t bytes) {
  constexpr std::int64_t kBlock = 64;
  return std::max(kBlock, bytes / kBlock * kBlock);
}

// Puts one item of the campaign together: collectives one after the other, on one stream or two.
class CampaignBuilder {
 public:
  explicit CampaignBuilder(const NodeShape& shape);

  int nodes() const { return shape_.nodes; }
  int per_node() const { return shape_.ranks_per_node; }

  // Adds an exchange in which each rank sends `bytes(from, to)` to each other one, all at once.
  void exchange(const std::function<std::int64_t(int from, int to)>& bytes) { exchange("world", bytes); }
  void send(std::int64_t bytes, int sender, int receiver) {
    exchange([=](int from, int to) { return from == sender && to == receiver ? bytes : 0; });
  }
  // Every ordered pair of the group's members, at once.
  void all_to_all(const std::string& group, std::int64_t bytes_per_pair) {
    exchange(group, [=](int, int) { return bytes_per_pair; });
  }
  // Among all ranks in steps, each a permutation inside one tier; a rank goes on when it has sent and received.
  void pairwise(const std::function<std::int64_t(int from)>& bytes);
  // all_reduce, reduce_scatter or all_gather of `bytes` by a ring, in whole blocks.
  void reduce(OpClass op_class, const std::string& group, std::int64_t bytes);
  // Operations that are added from here on run beside those before.
  void on_second_stream() { stream_ = 1; }

  Program program(const std::string& name);  // checked

 private:
  void add(Op op);
  void exchange(const std::string& group, const std::function<std::int64_t(int from, int to)>& bytes);
  int members(const std::string& group) const { return static_cast<int>(program_.groups.at(group).front().size()); }

  NodeShape shape_;
  Program program_;
  int stream_ = 0;
};

CampaignBuilder::CampaignBuilder(const NodeShape& shape) : shape_(shape) {
  program_.scenario = "campaign";
  program_.world_size = shape.world_size();
  program_.ranks_per_node = shape.ranks_per_node;
  program_.batch_per_rank = 1;
  std::vector<std::vector<int>> world(1), nodes(shape.nodes), rails(shape.ranks_per_node);
  for (int rank = 0; rank < shape.world_size(); ++rank) {
    world.front().push_back(rank);
    nodes[rank / shape.ranks_per_node].push_back(rank);
    rails[rank % shape.ranks_per_node].push_back(rank);
  }
  program_.groups = {{"world", world}, {"node", nodes}, {"cross_node", rails}};
}

void CampaignBuilder::add(Op op) {
  op.id = static_cast<int>(program_.ops.size());
  op.stream = stream_;
  op.dtype = "fp32";
  if (!program_.ops.empty() && program_.ops.back().stream == stream_) op.after = {op.id - 1};
  program_.ops.push_back(std::move(op));
}

void CampaignBuilder::exchange(const std::string& group, const std::function<std::int64_t(int, int)>& bytes) {
  const int count = members(group);
  std::vector<std::vector<std::int64_t>> matrix(count, std::vector<std::int64_t>(count, 0));
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) matrix[from][to] = from == to ? 0 : bytes(from, to);
  }
  Op op;
  op.op_class = OpClass::all_to_all;
  op.name = group + "_all_to_all";
  op.group = group;
  op.matrix.index = static_cast<int>(program_.matrices.size());
  program_.matrices.push_back(
      {"bytes" + std::to_string(op.matrix.index), {ByteMatrix::Kind::dense, 1, {}, std::move(matrix), false}});
  add(std::move(op));
}

void CampaignBuilder::pairwise(const std::function<std::int64_t(int from)>& bytes) {
  for (int step = 1; step < shape_.world_size(); ++step) {
    exchange([&](int from, int to) {
      return to == shifted(from, step / per_node(), step % per_node(), shape_) ? bytes(from) : 0;
    });
  }
}

void CampaignBuilder::reduce(OpClass op_class, const std::string& group, std::int64_t bytes) {
  const std::int64_t count = members(group);
  Op op;
  op.op_class = op_class;
  op.name = group + "_" + std::string(op_class_name(op_class));
  op.group = group;
  op.bytes = count * whole_blocks(bytes / count);
  add(std::move(op));
}

Program CampaignBuilder::program(const std::string& name) {
  program_.case_name = name;
  program_.streams = {"first"};
  if (stream_ > 0) program_.streams.push_back("second");
  check_program(program_, Place{"campaign item " + name});
  return program_;
}

// Returns the share of the size argument that rank r sends to each other one.
double skew(int rank) {
  constexpr std::array kWeights = {2.0, 0.5, 1.0, 1.5, 0.25, 1.0, 0.75, 1.0};
  return kWeights[static_cast<std::size_t>(rank) % kWeights.size()];
}

std::int64_t skewed(int rank, std::int64_t n) {
  return whole_blocks(static_cast<std::int64_t>(static_cast<double>(n) * skew(rank)));
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

void bidir_inter(CampaignBuilder& build, std::int64_t n) {
  build.exchange([n, other = build.per_node()](int from, int to) {
    return std::min(from, to) == 0 && std::max(from, to) == other ? n : 0;
  });
}

void incast_inter(CampaignBuilder& build, std::int64_t n) {
  build.exchange([n, first = build.per_node()](int from, int to) { return to == 0 && from >= first ? n : 0; });
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

// An item of the campaign and what it does with its size argument (docs/emulated.md).
struct Entry {
  std::string_view name;
  void (*fill)(CampaignBuilder&, std::int64_t);
};

using Builder = CampaignBuilder;
constexpr std::array kEntries = std::to_array<Entry>({
    {"a2a_direct", [](Builder& build, std::int64_t n) { build.all_to_all("world", n); }},
    {"a2a_pairwise", [](Builder& build, std::int64_t n) { build.pairwise([n](int) { return n; }); }},
    {"a2av_direct",
     [](Builder& build, std::int64_t n) { build.exchange([n](int from, int) { return skewed(from, n); }); }},
    {"a2av_pairwise",
     [](Builder& build, std::int64_t n) { build.pairwise([n](int from) { return skewed(from, n); }); }},
    {"bidir_inter", bidir_inter},
    {"hier_a2a", hier_a2a},
    {"hier_ar", hier_ar},
    {"incast_all",
     [](Builder& build, std::int64_t n) { build.exchange([n](int, int to) { return to == 0 ? n : 0; }); }},
    {"incast_inter", incast_inter},
    {"intra_a2a", [](Builder& build, std::int64_t n) { build.all_to_all("node", n); }},
    {"ovl_contend", ovl_contend},
    {"ovl_disjoint", ovl_disjoint},
    {"p2p_inter", [](Builder& build, std::int64_t n) { build.send(n, 0, build.per_node()); }},
    {"p2p_intra", [](Builder& build, std::int64_t n) { build.send(n, 0, 1); }},
    {"ring_ar", [](Builder& build, std::int64_t n) { build.reduce(OpClass::all_reduce, "world", n); }},
    {"xnode_ar", [](Builder& build, std::int64_t n) { build.reduce(OpClass::all_reduce, "cross_node", n); }},
});

const Entry& entry_named(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry;
  }
  throw input_error({"campaign item"}, fmt::format("there is no item {}", excerpt(name)),
                    known_names_hint(name, campaign_names()));
}

std::vector<CampaignItem> items_of(const NodeShape& shape, JudgedAs judged, std::int64_t bytes,
                                   std::initializer_list<std::string_view> names) {
  std::vector<CampaignItem> items;
  for (const std::string_view name : names)
    items.push_back({std::string(name), bytes, judged, campaign_program(name, bytes, shape)});
  return items;
}

std::vector<CampaignItem> joined(std::initializer_list<std::vector<CampaignItem>> parts) {
  std::vector<CampaignItem> items;
  for (const auto& part : parts) items.insert(items.end(), part.begin(), part.end());
  return items;
}

}  // namespace

const Band& band_of(JudgedAs judged) {
  static constexpr std::array<Band, 5> kBands = {Band{"guard"}, Band{"NIC-bound", -0.05, 0.03},
                                                 Band{"fast/mixed", -0.10, 0.03}, Band{"fault", -0.12, 0.12},
                                                 Band{"reported"}};
  return kBands[static_cast<std::size_t>(judged)];
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
  return joined({items_of(shape, JudgedAs::guard, 64 * kKiB, {"p2p_intra"}),
                 items_of(shape, JudgedAs::guard, kMiB, {"p2p_intra"}),
                 items_of(shape, JudgedAs::guard, 64 * kKiB, {"p2p_inter"}),
                 items_of(shape, JudgedAs::guard, 256 * kKiB, {"p2p_inter"})});
}

std::vector<CampaignItem> gated_items(const NodeShape& shape) {
  return joined({items_of(shape, JudgedAs::nic_bound, 128 * kKiB,
                          {"a2a_direct", "a2a_pairwise", "a2av_direct", "ring_ar", "xnode_ar", "hier_a2a",
                           "incast_inter", "ovl_contend"}),
                 items_of(shape, JudgedAs::fast_or_mixed, kMiB, {"hier_ar", "intra_a2a", "ovl_disjoint"}),
                 items_of(shape, JudgedAs::reported, 128 * kKiB, {"a2av_pairwise"})});
}

std::vector<CampaignItem> straggler_items(const NodeShape& shape) {
  return joined(
      {items_of(shape, JudgedAs::fault, 128 * kKiB, {"a2a_direct", "ring_ar", "xnode_ar", "hier_a2a", "incast_inter"}),
       items_of(shape, JudgedAs::fault, kMiB, {"hier_ar"})});
}

}  // namespace shardsim
