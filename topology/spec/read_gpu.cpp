#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "topology/spec/limits.h"
#include "topology/spec/readers.h"

namespace shardsim {
namespace {

// Most GPUs that a node may have: a route is kept for every pair.

// A device copy reaches this part of the data-sheet rate (1391 of 1555 GB/s on an A100, published).
constexpr double kCopyEfficiency = 0.894;

struct ModelDefaults {
  std::string_view name;
  Bytes l2;
  Bandwidth l2_bandwidth;
  int sm_count;
};

// Data sheets; the L2 rates of A100 and V100 are published micro-benchmarks, that of H100 is a guess.
constexpr ModelDefaults kModels[] = {
    {"A100", {40LL << 20}, {2271e9}, 108},
    {"H100", {50LL << 20}, {3500e9}, 132},
    {"V100", {6LL << 20}, {1870e9}, 80},
};

bool is_word_in(std::string_view word, const std::string& text) {
  const auto at = text.find(word);
  if (at == std::string::npos) return false;
  const auto ends_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  const auto end = at + word.size();
  return (at == 0 || ends_word(text[at - 1])) && (end == text.size() || ends_word(text[end]));
}

ModelDefaults defaults_of(const GpuSpec& gpu) {
  for (const ModelDefaults& known : kModels) {
    if (is_word_in(known.name, gpu.model)) return known;
  }
  return {"", {0}, gpu.copy_bandwidth, 100};
}

std::string read_capability(MapReader& reader, const std::string& device) {
  const std::string text = reader.text("compute_capability");
  const auto dot = text.find('.');
  const auto digits = [](const std::string& part) {
    return !part.empty() && part.size() <= 2 &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const Place place = reader.place_of("compute_capability");
  if (dot == std::string::npos || !digits(text.substr(0, dot)) || !digits(text.substr(dot + 1))) {
    throw input_error(place, fmt::format("'{}' is no compute capability", text), "Write it as \"8.0\", in quotes");
  }
  constexpr int kNewest = 200;  // 20.0, beyond any GPU announced
  if (capability_number(text) > kNewest) {
    throw input_error(place, fmt::format("no GPU has compute capability {}", text),
                      "Write the GPU's own, for example \"8.0\"");
  }
  if (capability_number(text) == 0 && device != "cpu") {
    throw input_error(place, "compute capability 0.0 is for CPU ranks", "Write the GPU's own, or device: cpu");
  }
  return text;
}

// Either a share of the memory or so many bytes.
Bytes read_reserved(MapReader& reader, Bytes hbm) {
  const Tree* value = reader.value("reserved");
  if (value == nullptr) return {0};
  const std::string& text = scalar_text(*value, "a share or bytes");
  const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  const Bytes reserved =
      has_unit ? parse_bytes(text, value->place)
               : Bytes{static_cast<std::int64_t>(parse_share(text, value->place) * static_cast<double>(hbm.count))};
  if (reserved >= hbm) {
    throw input_error(value->place, "reserved leaves nothing of the GPU's memory", "Reserve less than hbm");
  }
  return reserved;
}

std::map<std::string, Flops> read_flops(MapReader& reader) {
  const Tree& value = reader.required("flops");
  if (value.kind != Tree::Kind::map) {
    return {{"fp32", parse_flops(scalar_text(value, "a rate such as \"19.5 TFLOP/s\""), value.place)}};
  }
  MapReader rates = reader.map("flops");
  std::map<std::string, Flops> flops = {{"fp32", rates.flops("fp32")}};
  for (const char* dtype : {"fp64", "tf32", "fp16", "bf16", "fp8", "int8"}) {
    if (rates.has(dtype)) flops[dtype] = rates.flops(dtype);
  }
  rates.finish();
  return flops;
}

// Default: fraction of the copy rate that an in-place update reaches on two table sizes (V100 traces, published).
std::vector<GpuSpec::UpdateEfficiency> read_update_efficiency(MapReader& reader, Sources* sources) {
  if (!reader.has("inplace_update_efficiency")) return {{{2'050'000'000}, 0.81}, {{8'190'000'000}, 0.53}};
  std::vector<GpuSpec::UpdateEfficiency> points;
  for (const Tree& item : reader.list("inplace_update_efficiency")) {
    MapReader entry(item, fmt::format("{}.inplace_update_efficiency.{}", reader.path(), points.size()), sources);
    const GpuSpec::UpdateEfficiency point{entry.bytes("table_bytes"), entry.efficiency("efficiency", 1)};
    entry.required("efficiency");
    entry.finish();
    if (point.table_bytes.count == 0 || (!points.empty() && point.table_bytes <= points.back().table_bytes)) {
      throw input_error(item.place, "the table sizes do not rise", "List the points by rising table_bytes, above 0 B");
    }
    points.push_back(point);
  }
  return points;
}

void read_memory(MapReader& reader, GpuSpec& gpu) {
  gpu.hbm = reader.bytes("hbm");
  if (gpu.hbm.count == 0) {
    throw input_error(reader.place_of("hbm"), "a GPU without memory", "Write the capacity, e.g. \"40 GiB\"");
  }
  gpu.reserved = read_reserved(reader, gpu.hbm);
  gpu.hbm_bandwidth = reader.rate("hbm_bandwidth");
  gpu.copy_bandwidth = reader.rate("copy_bandwidth", kCopyEfficiency * gpu.hbm_bandwidth);
  const ModelDefaults defaults = defaults_of(gpu);
  gpu.l2 = reader.bytes("l2", defaults.l2);
  gpu.l2_bandwidth = reader.rate("l2_bandwidth", defaults.l2_bandwidth);
  gpu.sm_count = small_count(reader, "sm_count", 100'000, defaults.sm_count);
}

void read_kernels(MapReader& reader, GpuSpec& gpu) {
  gpu.kernel_overhead = reader.time("kernel_overhead", gpu.kernel_overhead);
  gpu.launch_overhead = reader.time("launch_overhead", gpu.launch_overhead);
  gpu.lookups_per_ns = reader.real("lookups_per_ns", gpu.lookups_per_ns);
  if (gpu.lookups_per_ns <= 0) {
    throw input_error(reader.place_of("lookups_per_ns"), "a GPU that issues no lookups", "Write a number above 0");
  }
  gpu.sort_per_lookup = reader.time("sort_per_lookup", gpu.sort_per_lookup);
  gpu.sorted_update_kernels = small_count(reader, "sorted_update_kernels", 10'000, gpu.sorted_update_kernels);
  gpu.sorted_update_efficiency = reader.efficiency("sorted_update_efficiency", gpu.sorted_update_efficiency);
  gpu.overlap_slowdown = reader.share("overlap_slowdown", gpu.overlap_slowdown);
  if (gpu.overlap_slowdown >= 1) {
    throw input_error(reader.place_of("overlap_slowdown"), "a slowdown of 1 would stop compute for good",
                      "Write a share below 1");
  }
}

}  // namespace

int capability_number(const std::string& compute_capability) {
  const auto dot = compute_capability.find('.');
  return 10 * std::stoi(compute_capability.substr(0, dot)) + std::stoi(compute_capability.substr(dot + 1));
}

GpuSpec read_gpu(MapReader reader, const std::string& device, Sources* sources) {
  GpuSpec gpu;
  gpu.model = reader.text("model");
  gpu.count = small_count(reader, "count", kMostGpusPerNode);
  gpu.compute_capability = read_capability(reader, device);
  read_memory(reader, gpu);
  gpu.flops = read_flops(reader);
  gpu.flops_efficiency = reader.efficiency("flops_efficiency", gpu.flops_efficiency);
  read_kernels(reader, gpu);
  gpu.inplace_update_efficiency = read_update_efficiency(reader, sources);
  reader.finish();
  return gpu;
}

}  // namespace shardsim
