#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "base/tree/tree.h"
#include "base/tree/yaml_text.h"
#include "models/software/software.h"
#include "plan/planner.h"
#include "study/explore/explorer.h"

namespace shardsim {
namespace {

constexpr double kGbit = 1e9 / 8, kGigabyte = 1e9;
constexpr const char* kTierPlanners[] = {"flexshard_2tier", "flexshard_3tier"};

// Doubling stops from `low` to `high`, and the case's own value among them.
std::vector<double> doubling(double low, double high, double own) {
  std::vector<double> stops{low};
  while (2 * stops.back() <= high) stops.push_back(2 * stops.back());
  if (own > 0 && std::ranges::find(stops, own) == stops.end()) stops.push_back(own);
  std::ranges::sort(stops);
  return stops;
}

std::vector<double> steps(double from, double to, double by, double own) {
  std::vector<double> stops;
  for (int step = 0; from + step * by <= to + by * 1e-6; ++step)
    stops.push_back(std::round((from + step * by) * 1e6) / 1e6);
  if (std::ranges::find(stops, own) == stops.end()) stops.push_back(own);
  std::ranges::sort(stops);
  return stops;
}

int hosts_of(const ClusterSpec& cluster) {
  return cluster.gpus_per_host == 0 ? cluster.nodes : cluster.nodes * cluster.gpu.count / cluster.gpus_per_host;
}

int gpus_of(const ClusterSpec& cluster) {
  return cluster.gpus_per_host == 0 ? cluster.gpu.count : cluster.gpus_per_host;
}

std::size_t largest_table(const Workload& workload) {
  const auto largest = std::ranges::max_element(workload.tables, {}, &Table::rows);
  return static_cast<std::size_t>(largest - workload.tables.begin());
}

std::string planner_of(const Case& item) {
  const Tree* const name = item.planner.find("name");
  return name == nullptr ? "" : name->scalar;
}

bool has_tiers(const Case& item) {
  return std::ranges::find(kTierPlanners, planner_of(item)) != std::end(kTierPlanners);
}

// Planners that need no option.
std::vector<Knob::Option> ready_planners() {
  std::vector<Knob::Option> options;
  for (const PlannerEntry& entry : planners()) {
    try {
      make_planner(named_map(std::string(entry.name)));
    } catch (const Error&) {
      continue;
    }
    options.push_back({std::string(entry.name), std::string(entry.name)});
  }
  return options;
}

std::vector<Knob::Option> software_options() {
  std::vector<Knob::Option> options;
  for (const std::string& name : shipped_software().names()) options.push_back({name, name});
  return options;
}

std::string known_or_none(const std::string& value, const std::vector<Knob::Option>& options) {
  return std::ranges::find(options, value, &Knob::Option::value) == options.end() ? "" : value;
}

// Makes a knob for a case, or nothing where the case has nothing to turn.
using KnobMaker = std::optional<Knob> (*)(const Case& now, const Case& base, const ShippedHardware& hardware);

std::optional<Knob> cluster_knob(const Case& now, const Case&, const ShippedHardware& hardware) {
  return Knob{
      .id = "cluster",
      .label = "Cluster",
      .path = "cluster",
      .value = known_or_none(now.cluster.name, hardware.clusters),
      .options = hardware.clusters,
      .help = "A shipped cluster, with as many nodes as the case has. It replaces the other fields of hardware."};
}

// Where times of the workload were measured, another GPU does not change them, which would look like a fault.
std::string gpu_help(const Case& now) {
  const auto& measured = now.workload.dense.measured;
  const std::string help = "The GPU of a shipped cluster in place of the case's; NVLink, NICs and hosts stay.";
  if (!measured) return help;
  return help + (measured->simulates_embeddings
                     ? " The dense part was measured: no GPU changes its time."
                     : " Lookups, updates and the dense part were measured: no GPU changes their time.");
}

std::optional<Knob> gpu_knob(const Case& now, const Case&, const ShippedHardware& hardware) {
  return Knob{.id = "gpu",
              .label = "GPU",
              .path = "cluster.gpu",
              .value = known_or_none(now.cluster.gpu.model, hardware.gpus),
              .options = hardware.gpus,
              .help = gpu_help(now)};
}

std::optional<Knob> nodes_knob(const Case& now, const Case& base, const ShippedHardware&) {
  if (!now.cluster.nics) return std::nullopt;
  const int nodes = hosts_of(now.cluster);
  return Knob{.id = "nodes",
              .label = "Nodes",
              .path = "cluster.nodes",
              .value = std::to_string(nodes),
              .stops = doubling(1, std::max(64, 8 * hosts_of(base.cluster)), nodes)};
}

std::optional<Knob> gpus_knob(const Case& now, const Case& base, const ShippedHardware&) {
  if (gpus_of(base.cluster) == 1) return std::nullopt;
  return Knob{.id = "gpus",
              .label = "GPUs of a node",
              .path = "cluster.gpu.count",
              .value = std::to_string(gpus_of(now.cluster)),
              .stops = doubling(1, gpus_of(base.cluster), gpus_of(now.cluster))};
}

std::optional<Knob> nic_knob(const Case& now, const Case&, const ShippedHardware&) {
  if (!now.cluster.nics) return std::nullopt;
  const double rate = now.cluster.nics->rate.bytes_per_second / kGbit;
  return Knob{.id = "nic",
              .label = "NIC rate",
              .unit = "Gbit/s",
              .path = "cluster.nics.rate",
              .value = shortest(rate),
              .stops = doubling(25, 1600, rate),
              .help = "The rate of one NIC, in each direction."};
}

std::optional<Knob> nvlink_knob(const Case& now, const Case&, const ShippedHardware&) {
  if (now.cluster.nvlink.kind == NvlinkKind::none) return std::nullopt;
  const double rate = now.cluster.nvlink.per_link_effective.bytes_per_second / kGigabyte;
  return Knob{
      .id = "nvlink",
      .label = "NVLink rate",
      .unit = "GB/s",
      .path = "cluster.nvlink.per_link_effective",
      .value = shortest(rate),
      .stops = doubling(5, 160, rate),
      .help = fmt::format("The rate of one link as traffic uses it; a GPU has {}.", now.cluster.nvlink.links_per_gpu)};
}

std::optional<Knob> batch_knob(const Case& now, const Case&, const ShippedHardware&) {
  const auto batch = static_cast<double>(now.workload.batch_per_gpu);
  return Knob{.id = "batch",
              .label = "Batch of a GPU",
              .path = "workload.batch_per_gpu",
              .value = std::to_string(now.workload.batch_per_gpu),
              .stops = doubling(256, 65536, batch)};
}

std::optional<Knob> accumulate_knob(const Case& now, const Case&, const ShippedHardware&) {
  const int batches = static_cast<int>(now.workload.accumulate);
  return Knob{
      .id = "accumulate",
      .label = "Accumulated batches",
      .path = "workload.accumulate",
      .value = std::to_string(batches),
      .stops = doubling(1, 64, batches),
      .help = "Batches whose dense gradients are added up before one all-reduce and one step of the optimizer."};
}

std::optional<Knob> pipeline_knob(const Case& now, const Case&, const ShippedHardware&) {
  std::vector<Knob::Option> options;
  for (const char* const name :
       {"none", "sparse_dist", "prefetch_sparse_dist", "fused_sparse_dist", "semi_sync", "base"})
    options.push_back({name, name});
  const std::string value = known_or_none(now.workload.pipeline, options);
  return Knob{.id = "pipeline",
              .label = "Pipeline",
              .path = "workload.pipeline",
              .value = value,
              .options = std::move(options),
              .help = "When the ids of the next batch are exchanged."};
}

std::optional<Knob> rows_knob(const Case& now, const Case& base, const ShippedHardware&) {
  const std::size_t at = largest_table(base.workload);
  if (at >= now.workload.tables.size() || base.workload.tables[at].rows < 2) return std::nullopt;
  const auto rows = static_cast<double>(base.workload.tables[at].rows);
  std::vector<double> stops;
  for (const double factor : {0.25, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0})
    stops.push_back(std::round(rows * factor));
  return Knob{.id = "rows",
              .label = fmt::format("Rows of {}", base.workload.tables[at].name),
              .path = fmt::format("workload.tables.{}.rows", at),
              .value = std::to_string(now.workload.tables[at].rows),
              .stops = std::move(stops),
              .help = "The largest table, as it grows."};
}

std::optional<Knob> exponent_knob(const Case& now, const Case& base, const ShippedHardware&) {
  const std::size_t at = largest_table(base.workload);
  if (at >= now.workload.tables.size() || !now.workload.tables[at].access.family.starts_with("zipf"))
    return std::nullopt;
  const double s = now.workload.tables[at].access.s;
  return Knob{.id = "exponent",
              .label = fmt::format("Exponent of {}", base.workload.tables[at].name),
              .path = fmt::format("workload.tables.{}.access.s", at),
              .value = shortest(s),
              .stops = steps(0, 1.6, 0.1, s),
              .help = "The exponent of its rows' popularity: 0 is uniform."};
}

std::optional<Knob> software_knob(const Case& now, const Case&, const ShippedHardware&) {
  std::vector<Knob::Option> options = software_options();
  const std::string value = now.software ? known_or_none(now.software->name, options) : "";
  return Knob{.id = "software",
              .label = "Software",
              .path = "software",
              .value = value,
              .options = std::move(options),
              .help = now.software ? "" : "The scenario states none, so no host is simulated."};
}

std::optional<Knob> planner_knob(const Case& now, const Case&, const ShippedHardware&) {
  std::vector<Knob::Option> options = ready_planners();
  const std::string value = known_or_none(planner_of(now), options);
  return Knob{.id = "planner",
              .label = "Planner",
              .path = "planner",
              .value = value,
              .options = std::move(options),
              .help = "With its own defaults; options that the scenario states belong to the scenario's planner."};
}

std::optional<Knob> budget_knob(const Case& now, const Case&, const ShippedHardware&) {
  if (!has_tiers(now) || now.planner.find("memory_limit") != nullptr) return std::nullopt;
  const Tree* const stated = now.planner.find("memory_budget");
  double budget = 0;
  if (stated != nullptr) budget = static_cast<double>(parse_signed_bytes(stated->scalar, stated->place).count) / kGiB;
  return Knob{.id = "budget",
              .label = "Replication budget",
              .unit = "GiB",
              .path = "planner.memory_budget",
              .value = shortest(budget),
              .stops = steps(-4, 16, 0.5, budget),
              .help = "Memory that a GPU may hold more (or less) than with the row-wise plan."};
}

// In the order in which their settings are applied: a cluster comes before what is changed in it.
constexpr KnobMaker kKnobMakers[] = {cluster_knob,  gpu_knob,      nodes_knob,      gpus_knob,  nic_knob,
                                     nvlink_knob,   batch_knob,    accumulate_knob, rows_knob,  exponent_knob,
                                     pipeline_knob, software_knob, planner_knob,    budget_knob};

// Every knob's path and unit, whether the case has it now or gets it by another knob (a planner that has a budget).
struct KnobPath {
  const char* id;
  const char* path;
  const char* unit;
};
constexpr KnobPath kPlainKnobs[] = {{"nodes", "cluster.nodes", ""},
                                    {"gpus", "cluster.gpu.count", ""},
                                    {"nic", "cluster.nics.rate", "Gbit/s"},
                                    {"nvlink", "cluster.nvlink.per_link_effective", "GB/s"},
                                    {"batch", "workload.batch_per_gpu", ""},
                                    {"accumulate", "workload.accumulate", ""},
                                    {"rows", "workload.tables.{}.rows", ""},
                                    {"exponent", "workload.tables.{}.access.s", ""},
                                    {"pipeline", "workload.pipeline", ""},
                                    {"software", "software", ""},
                                    {"planner", "planner", ""},
                                    {"budget", "planner.memory_budget", "GiB"}};

bool is_number(const std::string& text) {
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size();
}

// A unit that the reader wrote holds; a plain number has the knob's.
std::string with_unit(const std::string& value, const std::string& unit) {
  return unit.empty() || !is_number(value) ? value : value + " " + unit;
}

void add_hardware(Settings& settings, const KnobValues& values, const Case& base, const ShippedHardware& hardware) {
  if (const auto cluster = values.find("cluster"); cluster != values.end()) {
    settings.emplace_back("cluster", cluster->second);
    if (!values.contains("nodes") && base.cluster.nics)
      settings.emplace_back("cluster.nodes", std::to_string(hosts_of(base.cluster)));
  }
  const auto gpu = values.find("gpu");
  if (gpu == values.end()) return;
  const auto map = hardware.gpu_maps.find(gpu->second);
  if (map == hardware.gpu_maps.end())
    throw input_error({"argument --set cluster.gpu"}, "no shipped cluster has the GPU " + excerpt(gpu->second),
                      "Choose one of the list");
  settings.emplace_back("cluster.gpu", map->second);
  if (!values.contains("gpus")) settings.emplace_back("cluster.gpu.count", std::to_string(gpus_of(base.cluster)));
}

std::string setting_value(const KnobPath& knob, const std::string& value) {
  return std::string_view(knob.id) == "planner" ? fmt::format("{{name: {}}}", value) : with_unit(value, knob.unit);
}

bool is_known_knob(const std::string& id) {
  return id == "cluster" || id == "gpu" || std::ranges::find(kPlainKnobs, id, &KnobPath::id) != std::end(kPlainKnobs);
}

std::optional<std::string> scalar_at(const Tree& tree, std::string_view key) {
  const Tree* const value = tree.find(key);
  if (value == nullptr || value->kind != Tree::Kind::scalar) return std::nullopt;
  return value->scalar;
}

}  // namespace

ShippedHardware ShippedHardware::read(bool several_nodes) {
  ShippedHardware hardware;
  for (const std::string& name : shipped("clusters")) {
    const Tree tree = load_named(name, "clusters", "", {});
    if (several_nodes && tree.find("nics") == nullptr) continue;
    hardware.clusters.push_back({name, name});
    const Tree* const gpu = tree.find("gpu");
    const auto model = gpu == nullptr ? std::nullopt : scalar_at(*gpu, "model");
    if (!model || scalar_at(tree, "device").value_or("cuda") != "cuda") continue;
    if (hardware.gpu_maps.emplace(*model, flow_text(*gpu)).second) hardware.gpus.push_back({*model, *model});
  }
  std::ranges::sort(hardware.gpus, {}, &Knob::Option::value);
  return hardware;
}

std::vector<Knob> knobs_of(const Case& now, const Case& base, const ShippedHardware& hardware) {
  std::vector<Knob> knobs;
  for (const KnobMaker make : kKnobMakers)
    if (std::optional<Knob> knob = make(now, base, hardware)) knobs.push_back(std::move(*knob));
  return knobs;
}

Settings settings_of_knobs(const KnobValues& values, const Case& base, const ShippedHardware& hardware) {
  for (const auto& [id, value] : values)
    if (!is_known_knob(id)) throw input_error({"request"}, "unknown field " + excerpt(id), "Load the page again");
  Settings settings;
  add_hardware(settings, values, base, hardware);
  const std::string table = std::to_string(largest_table(base.workload));
  for (const KnobPath& knob : kPlainKnobs) {
    const auto turned = values.find(knob.id);
    if (turned == values.end()) continue;
    settings.emplace_back(fmt::format(fmt::runtime(knob.path), table), setting_value(knob, turned->second));
  }
  return settings;
}

}  // namespace shardsim
