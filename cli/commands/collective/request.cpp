#include "cli/commands/collective/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "base/units.h"
#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

// Weights of the destinations, the same from every source.
struct Skew {
  std::string_view name;
  double (*weight)(int destination, int ranks);
};

constexpr Skew kSkews[] = {
    {"even", [](int, int) { return 1.0; }},
    {"half_to_first", [](int d, int n) { return d == 0 ? n - 1.0 : 1.0; }},
    {"linear", [](int d, int) { return d + 1.0; }},
    {"zipf", [](int d, int) { return 1 / (d + 1.0); }},
};

std::vector<std::string> kind_names() {
  std::vector<std::string> names = collective_kind_names();
  names.emplace_back("all_to_all_v");
  return names;
}

std::vector<std::string> skew_names() {
  std::vector<std::string> names;
  for (const Skew& skew : kSkews) names.emplace_back(skew.name);
  return names;
}

void read_kind(const Arguments& given, CollectiveRequest& request) {
  const std::string name = given.text("kind");
  const auto kind = collective_kind_named(name);
  if (!kind) throw input_error(Arguments::place("kind"), "unknown kind", known_names_hint(name, kind_names()));
  request.kind = *kind;
  request.label = names_uneven_exchange(name) ? "all_to_all_v" : std::string(collective_kind_name(*kind));
}

int gpus_in_use(const Arguments& given, const Cluster& cluster) {
  const int all = cluster.ranks_per_node();
  return static_cast<int>(given.count("gpus-per-node", 1, all).value_or(all));
}

std::vector<std::vector<int>> named_groups(const std::string& name, int gpus, const Cluster& cluster) {
  std::vector<std::vector<int>> groups(name == "world" ? 1 : name == "node" ? cluster.nodes() : gpus);
  for (int node = 0; node < cluster.nodes(); ++node)
    for (int gpu = 0; gpu < gpus; ++gpu)
      groups[name == "world" ? 0 : name == "node" ? node : gpu].push_back(node * cluster.ranks_per_node() + gpu);
  return groups;
}

void check_members(const std::vector<std::vector<int>>& groups) {
  std::vector<int> all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice == all.end()) return;
  throw input_error(Arguments::place("group"), "rank " + std::to_string(*twice) + " is named twice",
                    "Name each member once; groups at the same time share none");
}

// A list says which ranks; --gpus-per-node says which of them there are.
void check_in_use(const std::vector<int>& ranks, int gpus, const Cluster& cluster) {
  for (int rank : ranks) {
    if (cluster.gpu_of(rank) < gpus) continue;
    throw input_error(Arguments::place("group"),
                      "rank " + std::to_string(rank) + " is GPU " + std::to_string(cluster.gpu_of(rank)) +
                          " of its node, and --gpus-per-node takes only the first " + std::to_string(gpus),
                      "Leave --gpus-per-node out, or list other ranks");
  }
}

void read_groups(const Arguments& given, const Cluster& cluster, CollectiveRequest& request) {
  request.group = given.text("group");
  const int gpus = gpus_in_use(given, cluster);
  if (request.group == "world" || request.group == "node" || request.group == "cross_node") {
    request.groups = named_groups(request.group, gpus, cluster);
    return;
  }
  const Place place = Arguments::place("group");
  if (request.group.find_first_not_of("0123456789,-:/") != std::string::npos)
    throw input_error(place, excerpt(request.group) + " is no group",
                      "Write world, node, cross_node, or ranks like 0,1,8-11");
  for (const std::string& text : split(request.group, '/')) {
    request.groups.push_back(read_rank_sets(text, cluster.world_size(), place));
    check_in_use(request.groups.back(), gpus, cluster);
  }
  check_members(request.groups);
}

// Bytes that a rank sends, on average.
std::int64_t mean_sent(const std::vector<std::vector<std::int64_t>>& dense, const Place& place) {
  double sum = 0;
  for (const auto& row : dense)
    for (std::int64_t bytes : row) sum += static_cast<double>(bytes);
  if (sum <= 0) throw input_error(place, "the matrix is empty: nothing is sent", "Give bytes above 0");
  if (sum > kMostExactBytes) throw input_error(place, "the matrix adds up to more than 2^53 bytes", "Check its cells");
  return static_cast<std::int64_t>(std::llround(sum / static_cast<double>(dense.size())));
}

ByteMatrix scaled(const std::vector<std::vector<std::int64_t>>& dense, double factor) {
  ByteMatrix matrix;
  matrix.kind = ByteMatrix::Kind::dense;
  matrix.dense = dense;
  for (auto& row : matrix.dense)
    for (std::int64_t& bytes : row) bytes = std::llround(static_cast<double>(bytes) * factor);
  return matrix;
}

// Limits of sizes and of ranks hold singly; what they ask for together is bounded, too.
void check_work(const CollectiveRequest& request, std::size_t per_size, std::size_t most, const std::string& what) {
  const std::size_t sizes = request.sizes.size();
  if (sizes * per_size <= most) return;
  throw input_error(
      Arguments::place("sizes"), fmt::format("{} sizes of {} {}, over {} together", sizes, per_size, what, most),
      fmt::format("Ask for at most {} sizes at a time, or fewer ranks", std::max<std::size_t>(1, most / per_size)));
}

constexpr std::size_t kMostRankSizes = 5'000'000;  // ranks times sizes: seconds of work
constexpr std::size_t kMostCells = 100'000'000;    // of all matrices: 800 MB

void take_matrix(const std::string& file, CollectiveRequest& request) {
  const auto dense = read_byte_matrix(file, request.groups.front().size());
  const std::int64_t mean = mean_sent(dense, {file});
  if (request.sizes.empty()) request.sizes = {mean};
  check_work(request, dense.size() * dense.size(), kMostCells, "cells of the matrix");
  for (std::int64_t size : request.sizes)
    request.matrices.push_back(scaled(dense, size == mean ? 1 : static_cast<double>(size) / static_cast<double>(mean)));
}

void take_skew(const std::string& name, CollectiveRequest& request) {
  const Skew* const chosen = std::ranges::find(kSkews, name, &Skew::name);
  const int ranks = static_cast<int>(request.groups.front().size());
  std::vector<double> weights;
  for (int d = 0; d < ranks; ++d) weights.push_back(chosen->weight(d, ranks));
  for (std::int64_t size : request.sizes) {
    ByteMatrix matrix;
    matrix.kind = ByteMatrix::Kind::by_destination;
    matrix.units = split_by_largest_remainder(size, weights);
    request.matrices.push_back(std::move(matrix));
  }
}

// One row, its size what a rank sends on average.
void take_loads(const std::string& file, const Cluster& cluster, CollectiveRequest& request) {
  if (request.groups.size() > 1)
    throw input_error(Arguments::place("loads"), "several groups at once", "Give --group one list of ranks, or world");
  request.rank_bytes = read_rank_bytes(file, request.groups.front(), cluster);
  double sum = 0;
  for (const RankBytes& bytes : request.rank_bytes)
    sum += static_cast<double>(bytes.sent_in_node) + static_cast<double>(bytes.sent_off_node);
  if (sum <= 0) throw input_error({file}, "nothing is sent", "Give bytes above 0");
  request.sizes = {static_cast<std::int64_t>(sum / static_cast<double>(request.rank_bytes.size()))};
}

void read_payload(const Arguments& given, const Cluster& cluster, CollectiveRequest& request) {
  const auto sizes = given.value("sizes"), matrix = given.value("matrix"), skew = given.value("skew");
  if (const auto loads = given.value("loads")) {
    if (sizes || matrix || skew || request.label != "all_to_all_v")
      throw input_error(
          Arguments::place("loads"),
          "the option gives all bytes of an all_to_all_v and cannot be combined with other kinds or with sizes",
          "Write --kind all_to_all_v without --sizes, --matrix and --skew");
    return take_loads(*loads, cluster, request);
  }
  if (sizes) request.sizes = parse_sizes(*sizes, Arguments::place("sizes"));
  std::size_t ranks = 0;
  for (const std::vector<int>& group : request.groups) ranks += group.size();
  check_work(request, ranks, kMostRankSizes, "ranks");
  if (!sizes && !matrix)
    throw input_error(Arguments::place("sizes"), "the sizes are missing", "Write for example --sizes 1KiB:1GiB:x2");
  if ((matrix || skew) && request.label != "all_to_all_v") {
    throw input_error(Arguments::place(matrix ? "matrix" : "skew"),
                      "only all_to_all_v can send different numbers of bytes to different ranks",
                      "Write --kind all_to_all_v, or leave it out");
  }
  if (matrix && skew)
    throw input_error(Arguments::place("skew"), "--matrix and --skew cannot be used together", "Give one of the two");
  if (matrix) return take_matrix(*matrix, request);
  if (request.label == "all_to_all_v" && !skew) {
    throw input_error(Arguments::place("kind"), "all_to_all_v needs to know the bytes between the ranks",
                      "Add --matrix FILE.csv or --skew NAME, or ask for all_to_all");
  }
  if (skew) take_skew(*skew, request);
}

}  // namespace

std::vector<Option> collective_request_options() {
  return {
      {"kind", 0, "KIND", "The collective: " + join(kind_names()) + "; the spellings of nccl-tests are understood too.",
       "", Option::Times::once},
      {"gpus-per-node", 0, "M", "Use only the first M GPUs of each node."},
      {"group", 0, "GROUP",
       "The ranks that take part. world: all of them. node: the GPUs of one node, every node at the same time. "
       "cross_node: one GPU of each node, all such groups at the same time. Or numbers of ranks such as 0,1,8-11; a / "
       "separates groups that run at the same time.",
       "world"},
      {"sizes", 0, "SIZES",
       "The sizes to predict: START:END:xFACTOR, START:END:+STEP, or sizes separated by commas. They are counted as "
       "nccl-tests does: for all_to_all, all_gather and reduce_scatter as the total of one rank."},
      {"matrix", 0, "FILE.csv",
       "The bytes that each rank sends to each other one in all_to_all_v: a CSV file with the header source,0,1,... "
       "and one line per source. With --sizes the matrix is scaled so that the ranks send that much on average."},
      {"skew", 0, "NAME", "The division of a rank's bytes of all_to_all_v among the destinations.", "",
       Option::Times::at_most_once, skew_names()},
      {"loads", 0, "FILE.csv",
       "The bytes that each rank of all_to_all_v sends and receives in total, as a CSV file; it takes the place of "
       "--sizes."}};
}

CollectiveRequest collective_request(const Arguments& given, const Cluster& cluster) {
  CollectiveRequest request;
  read_kind(given, request);
  read_groups(given, cluster, request);
  read_payload(given, cluster, request);
  return request;
}

}  // namespace shardsim
