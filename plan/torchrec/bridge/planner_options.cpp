#include "plan/torchrec/bridge/planner_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tree/leaf.h"
#include "plan/torchrec/bridge/hardware_options.h"

namespace shardsim::torchrec {
namespace {

const std::vector<std::string>& proposer_names() {
  static const std::vector<std::string> names = {
      "grid_search", "greedy", "greedy_sum", "uniform", "dynamic_programming", "embedding_offload_scaleup"};
  return names;  // in the order of ProposerKind
}

// A count that the search can afford.
int count_at_most(MapReader& reader, const char* key, std::int64_t fallback, double most) {
  return static_cast<int>(reader.count(key, Bounds::from(1).to(most), fallback));
}

double at_least_zero(MapReader& reader, const char* key, double fallback) {
  return reader.real(key, Bounds::from(0).to(1e6), fallback);
}

// A key of a choice that was not made: it would be read and change nothing.
void refuse_idle(MapReader& reader, const char* key, bool used, const std::string& belongs) {
  if (used || !reader.has(key)) return;
  throw input_error(reader.place_of(key), fmt::format("'{}' has no effect here: it belongs to {}", key, belongs),
                    "Leave it out, or make that choice");
}

std::vector<ProposerKind> read_proposers(MapReader& reader) {
  const std::vector<std::string> stated = reader.words("proposers", proposer_names(), "proposer of TorchRec");
  if (stated.empty()) return RunSettings{}.proposers;
  std::vector<ProposerKind> proposers;
  for (const std::string& name : stated) {
    const auto found = std::ranges::find(proposer_names(), name);
    proposers.push_back(static_cast<ProposerKind>(found - proposer_names().begin()));
  }
  return proposers;
}

PartitionerSettings read_partitioner(MapReader& reader) {
  PartitionerSettings settings;
  if (reader.choice("partitioner", {"greedy_perf", "memory_balanced"}, "greedy_perf") == "memory_balanced") {
    settings.kind = PartitionerKind::memory_balanced;
  }
  settings.sort_by_perf = reader.choice("sort_by", {"storage", "perf"}, "storage") == "perf";
  settings.balance_modules = reader.flag("balance_modules", false);
  settings.max_search_count = count_at_most(reader, "max_search_count", 10, 1000);
  settings.tolerance = at_least_zero(reader, "tolerance", 0.02);
  const bool balanced = settings.kind == PartitionerKind::memory_balanced;
  refuse_idle(reader, "max_search_count", balanced, "partitioner memory_balanced");
  refuse_idle(reader, "tolerance", balanced, "partitioner memory_balanced");
  refuse_idle(reader, "sort_by", !balanced, "partitioner greedy_perf; memory_balanced sorts by perf");
  return settings;
}

// A key or a choice that came with the newest version.
void refuse_before_newest(const Place& place, PlannerVersion version, const std::string& what) {
  if (version == PlannerVersion::v2026_08) return;
  throw input_error(
      place,
      fmt::format("{} has no effect here: version {} of TorchRec's planner does not have it", what, name_of(version)),
      fmt::format("Leave it out, or state version: \"{}\"", name_of(PlannerVersion::v2026_08)));
}

ReservationKind read_reservation_kind(MapReader& reader, PlannerVersion version) {
  const std::vector<std::string> names = {"fixed_percentage", "heuristical", "inference", "fixed_absolute",
                                          "sku_aware"};  // in the order of ReservationKind
  const std::string name = reader.choice("type", names, "heuristical");
  const auto kind = static_cast<ReservationKind>(std::ranges::find(names, name) - names.begin());
  if (kind >= ReservationKind::fixed_absolute) refuse_before_newest(reader.place_of("type"), version, "'" + name + "'");
  return kind;
}

// The bytes of the kinds that take no share.
void read_reserved_bytes(MapReader& reader, ReservationSettings& settings) {
  const bool absolute = settings.kind == ReservationKind::fixed_absolute;
  const bool sku = settings.kind == ReservationKind::sku_aware;
  refuse_idle(reader, "hbm_reserved", absolute, "type fixed_absolute");
  if (absolute) settings.absolute = reader.bytes("hbm_reserved").count;
  refuse_idle(reader, "model_base", sku, "type sku_aware");
  refuse_idle(reader, "runtime_overhead", sku, "type sku_aware");
  if (reader.has("model_base")) settings.model_base = reader.bytes("model_base").count;
  settings.runtime_overhead = reader.bytes("runtime_overhead", Bytes{0}).count;
  refuse_idle(reader, "margin", sku && !settings.model_base, "type sku_aware without model_base");
  if (sku && !settings.model_base) settings.margin = reader.bytes("margin").count;
}

ReservationSettings read_reservation(MapReader reader, PlannerVersion version) {
  using enum ReservationKind;
  ReservationSettings settings;
  settings.kind = read_reservation_kind(reader, version);
  settings.percentage = reader.share("percentage", 0.15);
  settings.parameter_multiplier = at_least_zero(reader, "parameter_multiplier", 6);
  if (reader.has("dense_tensor_estimate")) {
    settings.dense_tensor_estimate = static_cast<double>(reader.bytes("dense_tensor_estimate").count);
  }
  read_reserved_bytes(reader, settings);
  const bool counts_dense = settings.kind == heuristical || (settings.kind == sku_aware && !settings.model_base);
  refuse_idle(reader, "percentage", settings.kind < fixed_absolute,
              "types heuristical, fixed_percentage and inference");
  refuse_idle(reader, "parameter_multiplier", counts_dense, "types heuristical, and sku_aware without model_base");
  refuse_idle(reader, "dense_tensor_estimate", counts_dense || settings.kind == inference,
              "types heuristical and inference, and sku_aware without model_base");
  reader.finish();
  return settings;
}

// The older version reads 0 as "not given" and takes its own 32 or 128 GiB.
std::optional<Bytes> read_capacity(MapReader& reader, const char* key, PlannerVersion version) {
  if (!reader.has(key)) return std::nullopt;
  const Bytes capacity = reader.bytes(key);
  if (capacity.count > 0 || version == PlannerVersion::v2026_08) return capacity;
  throw input_error(reader.place_of(key), fmt::format("'{}' is 0 B, which version 2025-10 takes for its default", key),
                    "1 B is no memory at all, and without the key it is that of the cluster");
}

// One capacity for all ranks, or a list of one per rank.
std::vector<Bytes> read_ssd_capacities(MapReader& reader) {
  const Tree* const stated = reader.value("ssd_cap");
  if (stated == nullptr) return {};
  const LeafReader<Bytes> leaf = bytes_leaf();
  note_form(*stated, {Form::Kind::list, {}, Bounds::from(1)});
  if (stated->kind != Tree::Kind::list) return {reader.bytes("ssd_cap")};
  std::vector<Bytes> capacities;
  for (const Tree& item : stated->items) capacities.push_back(leaf(item));
  if (!capacities.empty()) return capacities;
  throw input_error(stated->place, "ssd_cap: the list is empty",
                    "Name the bytes of every rank, or of all in one value");
}

double element_bytes(MapReader& reader, const char* key) {
  const std::vector<std::string> names = {"fp32", "fp16", "bf16", "int8", "uint8", "nfp8", "int4", "int2"};
  constexpr double kBytes[] = {4, 2, 2, 1, 1, 1, 0.5, 0.25};
  return kBytes[std::ranges::find(names, reader.choice(key, names)) - names.begin()];
}

// The key-value kernels' caches in device and host memory, whose sizes TorchRec states in MB and GB. Its estimates take
// the first one for 0 where it is absent, and do not know the other.
void read_key_value(MapReader& reader, ConstraintOptions& options) {
  const bool key_value = std::ranges::any_of(options.allowed.compute_kernels, key_value_like);
  refuse_idle(reader, "max_l1_cache_size", key_value,
              "key-value kernels such as key_value, and compute_kernels names none");
  if (reader.has("max_l1_cache_size")) options.max_l1_cache_size = reader.bytes("max_l1_cache_size");
  refuse_idle(reader, "l2_cache_size", key_value,
              "key-value kernels such as key_value, and compute_kernels names none");
  if (reader.has("l2_cache_size")) options.l2_cache_size = reader.bytes("l2_cache_size");
}

// A managed-collision collection is told by its buckets alone.
void read_buckets(MapReader& reader, ConstraintOptions& options, PlannerVersion version) {
  if (reader.has("managed_collision"))
    refuse_before_newest(reader.place_of("managed_collision"), version, "'managed_collision'");
  options.managed_collision = reader.flag("managed_collision", false);
  refuse_idle(reader, "managed_collision", reader.has("total_num_buckets"), "total_num_buckets");
  if (reader.has("total_num_buckets")) options.num_buckets = reader.count("total_num_buckets");
}

ConstraintOptions read_constraint(MapReader reader, PlannerVersion version) {
  ConstraintOptions options;
  options.allowed.place = reader.tree().place;
  options.allowed.sharding_types = read_sharding_types(reader);
  options.allowed.compute_kernels = read_compute_kernels(reader);
  const auto& kernels = options.allowed.compute_kernels;
  for (const ComputeKernel kernel : kernels) {
    if (!known_to(version, kernel))
      refuse_before_newest(reader.place_of("compute_kernels"), version, fmt::format("kernel '{}'", name_of(kernel)));
  }
  read_key_value(reader, options);
  options.feature_processor = reader.flag("feature_processor", false);
  read_buckets(reader, options, version);
  refuse_idle(reader, "cache_load_factor", kernels.empty() || std::ranges::any_of(kernels, cached),
              "kernels with a cache, such as fused_uvm_caching, and compute_kernels names none");
  if (reader.has("min_partition")) options.min_partition = reader.count("min_partition");
  if (reader.has("cache_load_factor"))
    options.cache_load_factor = reader.get("cache_load_factor", share_leaf(Bounds::above(0).to(1), kWithoutCache));
  if (reader.has("output_dtype")) options.output_element_bytes = element_bytes(reader, "output_dtype");
  if (reader.has("device_group")) {
    options.allowed.device_group = parse_device(reader.choice("device_group", device_names()), {});
  }
  reader.finish();
  return options;
}

std::map<std::string, ConstraintOptions> read_constraints(MapReader& reader, PlannerVersion version) {
  std::map<std::string, ConstraintOptions> constraints;
  const Tree* map = reader.value("constraints");
  if (map == nullptr) return constraints;
  note_form(*map, stated_map());
  if (map->kind != Tree::Kind::map) {
    throw input_error(map->place, "'constraints' is no map", "Write TABLE: {sharding_types: [...], ...}");
  }
  for (const auto& [name, tree] : map->fields) {
    constraints[name] = read_constraint({tree, "constraints." + name}, version);
  }
  return constraints;
}

}  // namespace

std::vector<ShardingType> read_sharding_types(MapReader& reader) {
  std::vector<ShardingType> types;
  for (const std::string& name : reader.words("sharding_types", sharding_type_names(), "sharding type of TorchRec"))
    types.push_back(parse_sharding_type(name, {}));
  return types;
}

std::vector<ComputeKernel> read_compute_kernels(MapReader& reader) {
  std::vector<ComputeKernel> kernels;
  for (const std::string& name : reader.words("compute_kernels", compute_kernel_names(), "compute kernel of TorchRec"))
    kernels.push_back(parse_compute_kernel(name, {}));
  return kernels;
}

PlannerVersion read_version(MapReader& reader) {
  const std::string newest(name_of(kNewestVersion));
  return parse_version(reader.choice("version", version_names(), newest), reader.place_of("version"));
}

EstimateSettings read_estimate_settings(MapReader& reader) {
  EstimateSettings settings;
  settings.version = read_version(reader);
  Rules& rules = settings.rules;
  if (reader.choice("variant", {"code", "guide"}, "code") == "guide") rules = Rules::guide();
  MapReader given = reader.map("rules");
  rules.rw_rows = given.flag("rw_rows", rules.rw_rows);
  rules.ec_metadata_bytes = given.flag("ec_metadata_bytes", rules.ec_metadata_bytes);
  rules.prefetch_truncation = given.flag("prefetch_truncation", rules.prefetch_truncation);
  rules.cache_aux = given.flag("cache_aux", rules.cache_aux);
  rules.dense_reservation = given.flag("dense_reservation", rules.dense_reservation);
  given.finish();
  settings.run_embedding_at_peak_memory = reader.flag("run_embedding_at_peak_memory", false);
  return settings;
}

TopologyOptions read_topology_options(MapReader reader, PlannerVersion version) {
  TopologyOptions options;
  options.place = reader.tree().place;
  for (const char* const key : {"pod_size", "ssd_cap", "ssd_mem_bw"}) {
    if (reader.has(key)) refuse_before_newest(reader.place_of(key), version, fmt::format("'{}'", key));
  }
  options.device = parse_device(reader.choice("device", {"cuda", "mtia", "tpu"}, "cuda"), {});
  options.states_device = reader.has("device");
  if (options.device == Device::tpu) refuse_before_newest(reader.place_of("device"), version, "device 'tpu'");
  options.torchrec_rates = reader.choice("rates", {"cluster", "torchrec"}, "cluster") == "torchrec";
  options.hbm_cap = read_capacity(reader, "hbm_cap", version);
  options.ddr_cap = read_capacity(reader, "ddr_cap", version);
  options.ssd_cap = read_ssd_capacities(reader);
  options.ssd_cap_place = reader.place_of("ssd_cap");
  options.pod_size_place = reader.place_of("pod_size");
  if (reader.has("pod_size")) options.pod_size = count_at_most(reader, "pod_size", 1, 1e6);
  for (const RateKey& rate : kRateKeys) {
    if (reader.has(rate.key)) options.rates[rate.key] = reader.rate(rate.key);
  }
  if (reader.has("ssd_mem_bw")) options.rates["ssd_mem_bw"] = reader.rate("ssd_mem_bw");
  if (reader.has("bwd_compute_multiplier")) {
    options.bwd_compute_multiplier = at_least_zero(reader, "bwd_compute_multiplier", 0);
  }
  reader.finish();
  return options;
}

PlannerOptions read_planner_options(MapReader& reader) {
  PlannerOptions options;
  RunSettings& run = options.run;
  run.proposers = read_proposers(reader);
  run.partitioner = read_partitioner(reader);
  run.estimate = read_estimate_settings(reader);
  const PlannerVersion version = run.estimate.version;
  run.reservation = read_reservation(reader.map("storage_reservation"), version);
  run.max_grid_proposals = count_at_most(reader, "max_proposals", 10000, 10'000'000);
  run.bins_per_device = count_at_most(reader, "bins_per_device", 100, 10000);
  if (reader.has("timeout")) run.timeout_seconds = reader.get("timeout", long_time_leaf()).value;
  run.count_plans = false;
  refuse_idle(reader, "max_proposals", is_one_of(run.proposers, ProposerKind::grid_search), "the proposer grid_search");
  refuse_idle(reader, "bins_per_device", is_one_of(run.proposers, ProposerKind::dynamic_programming),
              "the proposer dynamic_programming");
  options.topology = read_topology_options(reader.map("topology"), version);
  options.constraints = read_constraints(reader, version);
  if (reader.has("hardware")) refuse_before_newest(reader.place_of("hardware"), version, "'hardware'");
  run.estimate.hardware = read_hardware(reader.map("hardware"));
  run.sharders = read_sharder(reader.map("sharder"), version);
  options.simulated = reader.choice("objective", {"estimated", "simulated"}, "estimated") == "simulated";
  options.candidates = count_at_most(reader, "candidates", 20, 1000);
  refuse_idle(reader, "candidates", options.simulated, "objective simulated");
  return options;
}

}  // namespace shardsim::torchrec
