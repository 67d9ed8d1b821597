#include "study/sweep/point_cases.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "study/scenario/key_editor.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostKnown = 256;  // clusters, and workloads; drawn ones are all different

constexpr const char* kPlanning[] = {"planner", "plan", "constraints", "memory_model"};
constexpr const char* kNamedModels[] = {"planner", "compute_model", "memory_model", "network"};

void refuse_unchangeable(const Axis& axis) {
  const std::string head = split_head(axis.path).first;
  static constexpr const char* kNever[] = {"jobs", "planners", "published", "relative_to", "repeat"};
  if (!is_one_of(kNever, head)) return;
  throw input_error(axis.place, fmt::format("'{}' cannot be an axis", head),
                    head == "planners" ? "Write 'planner: [NAME, ...]'" : "It has no meaning for a single simulation");
}

// A model may be named by its name alone, as --planners has it.
Tree whole_value(const std::string& path, const Tree& value) {
  if (value.kind == Tree::Kind::scalar && is_one_of(kNamedModels, path)) return named_map(value.scalar, value.place);
  return value;
}

void drop_keys(Tree& keys) {
  std::erase_if(keys.fields, [](const auto& field) { return field.first == "cluster" || field.first == "workload"; });
}

template <typename Known, typename Make>
const auto& known_or_made(Known& known, const typename Known::key_type& key, const Make& make) {
  if (const auto found = known.find(key); found != known.end()) return *found->second;
  if (known.size() >= kMostKnown) known.clear();
  return *(known[key] = std::make_shared<const decltype(make())>(make()));
}

void require_file(const Tree& file) {
  if (::access(file.scalar.c_str(), R_OK) == 0) return;
  throw input_error(file.place, fmt::format("cannot read {}: {}", excerpt(file.scalar), std::strerror(errno)),
                    "Check the path and its permissions");
}

// How far a change of a path reaches, the farthest first: the farther, the more has to be computed again.
enum class Reach { plan, tables, batch, shape, links };

Reach reach_of(const std::string& path) {
  if (is_of_plan(path)) return Reach::plan;
  if (path == "workload.batch_per_gpu") return Reach::batch;
  const auto [head, rest] = split_head(path);
  if (head == "workload") return Reach::tables;
  if (head == "network" || head == "collectives") return Reach::links;
  if (head != "cluster") return Reach::batch;
  static constexpr const char* kShape[] = {"", "base", "nodes", "gpu", "host", "pcie", "faults"};
  return is_one_of(kShape, split_head(rest).first) ? Reach::shape : Reach::links;
}

// The files that a plan or a planner names are read when a point is simulated, or without the place that names them. It
// is known before whether they are there: a plan, one to start from, a policy, costs.
void require_files_within(const Tree& options) {
  for (const auto& [key, value] : options.fields) {
    if (value.kind == Tree::Kind::scalar && names_planner_file(key)) require_file(value);
    require_files_within(value);
  }
}

}  // namespace

bool is_of_plan(const std::string& path) {
  return is_one_of(kPlanning, split_head(path).first);
}

PointCases::PointCases(const Sweep& sweep) : sweep_(sweep), rest_(sweep.base) {
  for (const SweepDimension& dimension : sweep.dimensions) std::ranges::for_each(dimension.axes, refuse_unchangeable);
  drop_keys(rest_.keys);
  std::vector<std::pair<Reach, std::size_t>> reaching;
  for (std::size_t d = 0; d < sweep.dimensions.size(); ++d) {
    const auto of_axis = [](const Axis& axis) { return reach_of(axis.path); };
    const Reach reach = of_axis(std::ranges::min(sweep.dimensions[d].axes, {}, of_axis));
    if (reach != Reach::links) reaching.emplace_back(reach, d);
  }
  std::ranges::sort(reaching);
  for (const auto& each : reaching) grouping_.push_back(each.second);
}

PointCases::Part PointCases::part_of(const Axis& axis) {
  const std::string head = split_head(axis.path).first;
  if (head == "cluster") return Part::cluster;
  if (head == "workload") return Part::workload;
  return is_of_plan(axis.path) ? Part::plan : Part::rest;
}

PointCases::Coordinates PointCases::of_part(const Coordinates& at, Part part) const {
  Coordinates result(at.size());
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::vector<Axis>& axes = sweep_.dimensions[d].axes;
    if (std::ranges::any_of(axes, [part](const Axis& axis) { return part_of(axis) == part; })) result[d] = at[d];
  }
  return result;
}

void PointCases::edit(CaseTree& tree, const Coordinates& at, Part part) {
  const std::string folder = std::filesystem::path(sweep_.path).parent_path().string();
  std::vector<std::pair<const Axis*, std::size_t>> edits;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (!at[d]) continue;
    for (const Axis& axis : sweep_.dimensions[d].axes)
      if (part_of(axis) == part) edits.emplace_back(&axis, *at[d]);
  }
  // Wholes come before what is inside them, or they would undo that.
  std::ranges::stable_sort(edits, {}, [](const auto& each) { return std::ranges::count(each.first->path, '.'); });
  KeyEditor editor(tree.keys, case_keys());
  for (const auto& each : edits) {
    const Axis& axis = *each.first;
    const Tree value = whole_value(axis.path, axis.values[each.second].tree);
    editor.edit(axis.path, value, {folder, loaded_});
  }
}

const ClusterSpec& PointCases::cluster_at(const Coordinates& at) {
  return known_or_made(clusters_, of_part(at, Part::cluster), [&] {
    CaseTree tree = rest_;
    if (const Tree* const cluster = sweep_.base.keys.find("cluster"))
      tree.keys.fields.emplace_back("cluster", *cluster);
    edit(tree, at, Part::cluster);
    return read_case_cluster(tree);
  });
}

const Workload& PointCases::workload_at(const Coordinates& at) {
  return known_or_made(workloads_, of_part(at, Part::workload), [&] {
    CaseTree tree = rest_;
    if (const Tree* const workload = sweep_.base.keys.find("workload"))
      tree.keys.fields.emplace_back("workload", *workload);
    edit(tree, at, Part::workload);
    return read_case_workload(tree);
  });
}

CaseTree PointCases::edited(const Coordinates& at) {
  CaseTree tree = rest_;
  edit(tree, at, Part::plan);
  edit(tree, at, Part::rest);
  return tree;
}

Case PointCases::read(const Coordinates& at, const CaseTree& tree) {
  Case item = read_case(tree, sweep_.seed, cluster_at(at), workload_at(at));
  validate_names(item);
  return item;
}

PointCases::Coordinates PointCases::all_of(std::size_t point) const {
  const std::vector<std::size_t> at = sweep_.coordinates(point);
  return {at.begin(), at.end()};
}

Case PointCases::at(std::size_t point) {
  return read(all_of(point));
}

Case PointCases::kept_case(std::size_t point) {
  return read(of_part(all_of(point), Part::plan));
}

std::vector<std::size_t> PointCases::kept_key(std::size_t point) const {
  std::vector<std::size_t> key;
  for (const std::optional<std::size_t>& at : of_part(all_of(point), Part::plan)) key.push_back(at.value_or(0));
  return key;
}

std::uint64_t PointCases::group_of(std::size_t point) const {
  const std::vector<std::size_t> at = sweep_.coordinates(point);
  std::uint64_t group = 0;
  for (const std::size_t d : grouping_) group = group * sweep_.dimensions[d].length() + at[d];
  return group;
}

std::optional<Error> PointCases::failure_at(const Coordinates& at) {
  try {
    const CaseTree tree = edited(at);
    for (const char* const key : {"plan", "planner"})
      if (const Tree* const options = tree.keys.find(key)) require_files_within(*options);
    read(at, tree);
  } catch (const Error& error) {
    if (error.failure() == Failure::input) return error;
  }
  return std::nullopt;
}

}  // namespace shardsim
