#include "plan/torchrec/bridge/hardware_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/torchrec/bridge/planner_options.h"

namespace shardsim::torchrec {
namespace {

constexpr double kMostWeight = 1e6;

std::optional<PassCoefficients> read_pass(MapReader& reader, const char* key) {
  if (!reader.has(key)) return std::nullopt;
  const LeafReader<double> leaf = real_leaf(Bounds::from(0).to(kMostWeight));
  std::vector<double> weights;
  for (const Tree& item : reader.list(key, Bounds::from(4).to(4))) weights.push_back(leaf(item));
  return PassCoefficients{weights[0], weights[1], weights[2], weights[3]};
}

TypeCoefficients read_passes(MapReader& reader) {
  return {read_pass(reader, "fwd").value_or(PassCoefficients{}), read_pass(reader, "bwd")};
}

// The sharding type and the kernel of an entry; an entry without a type is that of all types without their own.
struct Subject {
  std::optional<ShardingType> type;
  std::optional<ComputeKernel> kernel;

  bool operator==(const Subject&) const = default;
};

Subject read_subject(MapReader& reader) {
  Subject of;
  if (reader.has("sharding_type"))
    of.type = parse_sharding_type(reader.choice("sharding_type", sharding_type_names()), {});
  if (reader.has("compute_kernel"))
    of.kernel = parse_compute_kernel(reader.choice("compute_kernel", compute_kernel_names()), {});
  return of;
}

// TorchRec looks for coefficients of a type and a kernel, then for those of the type, and two types have none of their
// own.
void check_subject(MapReader& reader, const Subject& of, const std::vector<Subject>& before) {
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw input_error(reader.tree().place, "coefficients: " + what, remedy);
  };
  if (of.kernel && !of.type) refuse("TorchRec has none of a kernel for all sharding types", "State sharding_type, too");
  if (of.type && !of.kernel && coefficient_type(*of.type) != *of.type)
    refuse(fmt::format("for {} TorchRec takes those of {}", name_of(*of.type), name_of(coefficient_type(*of.type))),
           "State them there, or name a compute_kernel, too");
  if (std::ranges::find(before, of) != before.end())
    refuse("another entry has the same sharding type and compute kernel", "Keep one of them");
  if (!reader.has("fwd") && !reader.has("bwd"))
    refuse("neither fwd nor bwd is stated",
           "Write fwd: [ids read, rows looked up, vectors written, rows of the shard]");
}

void read_coefficients(MapReader& reader, HardwareConfig& hardware) {
  if (!reader.has("coefficients")) return;
  std::vector<Subject> before;
  for (const Tree& item : reader.list("coefficients", Bounds::from(1))) {
    MapReader entry(item, "hardware.coefficients");
    const Subject of = read_subject(entry);
    check_subject(entry, of, before);
    before.push_back(of);
    const TypeCoefficients coefficients = read_passes(entry);
    entry.finish();
    if (of.kernel) {
      hardware.by_kernel[{*of.type, *of.kernel}] = coefficients;
    } else if (of.type) {
      hardware.by_type[*of.type] = coefficients;
    } else {
      hardware.otherwise = coefficients;
    }
  }
}

std::optional<double> stated_multiplier(MapReader& reader, const char* key) {
  if (!reader.has(key)) return std::nullopt;
  return reader.real(key, Bounds::from(0).to(kMostWeight));
}

std::optional<bool> stated_flag(MapReader& reader, const char* key) {
  const bool value = reader.flag(key, false);
  return reader.has(key) ? std::optional(value) : std::nullopt;
}

double bytes_per_ms(Bandwidth rate) {
  return rate.bytes_per_second * 1e-3;
}

void read_bandwidths(MapReader& reader, HardwareConfig& hardware) {
  if (reader.has("device_bw")) hardware.device_bandwidth = bytes_per_ms(reader.rate("device_bw"));
  MapReader kernels = reader.map("kernel_device_bandwidths");
  for (const std::string& name : compute_kernel_names()) {
    const Bandwidth rate = kernels.rate(name, Bandwidth{0});
    if (kernels.has(name)) hardware.kernel_bandwidths[parse_compute_kernel(name, {})] = bytes_per_ms(rate);
  }
  kernels.finish();
}

}  // namespace

HardwareConfig read_hardware(MapReader reader) {
  HardwareConfig hardware;
  read_coefficients(reader, hardware);
  read_bandwidths(reader, hardware);
  hardware.bwd_compute_multiplier = stated_multiplier(reader, "bwd_compute_multiplier");
  hardware.weighted_bwd_compute_multiplier = stated_multiplier(reader, "weighted_feature_bwd_compute_multiplier");
  hardware.weighted_kernel_multiplier =
      reader.real("weighted_kernel_multiplier", Bounds::from(0).to(kMostWeight), hardware.weighted_kernel_multiplier);
  hardware.floor_of_columns = stated_flag(reader, "use_min_dim_for_lookup");
  hardware.block_penalty = stated_flag(reader, "use_block_usage_penalty");
  hardware.counts_id_bytes = reader.flag("use_bytes_for_input_read_size", true);
  hardware.id_bytes = reader.real("input_data_type_size", Bounds::from(1).to(16), hardware.id_bytes);
  for (const std::string& name :
       reader.words("supported_sharding_types", sharding_type_names(), "sharding type of TorchRec"))
    hardware.supported_types.push_back(parse_sharding_type(name, {}));
  reader.finish();
  return hardware;
}

SharderLists read_sharder(MapReader reader, PlannerVersion version) {
  SharderLists lists;
  if (reader.has("sharding_types")) lists.types = read_sharding_types(reader);
  if (reader.has("compute_kernels")) lists.kernels = read_compute_kernels(reader);
  for (const ComputeKernel kernel : lists.kernels.value_or(std::vector<ComputeKernel>{})) {
    if (!known_to(version, kernel)) {
      throw input_error(
          reader.place_of("compute_kernels"),
          fmt::format("version {} of TorchRec's planner has no kernel '{}'", name_of(version), name_of(kernel)),
          fmt::format("Leave it out, or state version: \"{}\"", name_of(kNewestVersion)));
    }
    if (quantized(kernel)) {
      throw input_error(
          reader.place_of("compute_kernels"),
          fmt::format("kernel '{}' is one of inference, and plans here are for training", name_of(kernel)),
          "Leave it out");
    }
  }
  reader.finish();
  return lists;
}

}  // namespace shardsim::torchrec
