#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "topology/spec/gpu_models.h"
#include "topology/spec/spec_fields.h"

namespace shardsim {
namespace {

constexpr double kMostStreamSharing = 10;
constexpr const char* kMeaningOfSharing =
    "0 means that streams do not slow each other down; 1 that two operations side by side take as long as one after "
    "the "
    "other";
constexpr double kMostHostTimeFactor = 100;
constexpr int kNewestCapability = 20;  // beyond any GPU announced
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

// Memory of a GPU that no tensor gets, in bytes: 0.43 GiB of the 79.65 that nvidia-smi shows of an H100 are the
// driver's (PyTorch sees 79.22), and 1.79 lie outside PyTorch's allocator with one GPU, for the CUDA context, libraries
// and workspaces (vllm-project/vllm#10511); NCCL has 0.67 in each communicator of more than two A100 (NVIDIA/nccl#964),
// of which training has two. The share keeps smaller GPUs usable and is a guess, as is that the sum holds for other
// GPUs.
constexpr std::int64_t kReservedBytes = 3584LL << 20;
constexpr double kReservedShare = 0.05;
// Less memory than any product of the family has, but for the rounding of its name, is a budget that somebody set.
constexpr double kBudgetShare = 0.9;

std::string_view family_of(const GpuModel& product) {
  return product.name.substr(0, product.name.find('-'));
}

Bytes usual_reserve(const GpuSpec& gpu) {
  double least = std::numeric_limits<double>::infinity();  // memory of the family's products
  for (const GpuModel& product : gpu_models()) {
    if (is_word_in(family_of(product), gpu.model))
      least = std::min(least, static_cast<double>(parse_bytes(std::string(product.hbm), {}).count));
  }
  const auto hbm = static_cast<double>(gpu.hbm.count);
  if (hbm < kBudgetShare * least) return {0};
  return {std::min(kReservedBytes, static_cast<std::int64_t>(kReservedShare * hbm))};
}

// Takes the defaults of the product if its whole name is known, else those of its family.
void take_model_defaults(GpuSpec& gpu) {
  gpu.l2_bandwidth = gpu.copy_bandwidth;
  for (const ModelDefaults& family : kModels) {
    if (!is_word_in(family.name, gpu.model)) continue;
    gpu.l2 = family.l2;
    gpu.l2_bandwidth = family.l2_bandwidth;
    gpu.sm_count = family.sm_count;
  }
  for (const GpuModel& product : gpu_models()) {
    if (product.name != gpu.model) continue;
    gpu.l2 = parse_bytes(std::string(product.l2), {});
    gpu.sm_count = product.sm_count;
  }
}

bool is_capability(const std::string& text) {
  const auto dot = text.find('.');
  const auto digits = [](const std::string& part) {
    return !part.empty() && part.size() <= 2 &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(text.substr(0, dot)) && digits(text.substr(dot + 1));
}

// In JSON, and for many who write JSON and YAML, 8.0 is 8.
std::string with_minor(const std::string& text) {
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

void check_capability(const std::string& text, const std::string& device, const Place& place) {
  if (!is_capability(text)) {
    throw input_error(place, fmt::format("'{}' is no compute capability", text), "Write it as \"8.0\", in quotes");
  }
  if (capability_number(text) > 10 * kNewestCapability) {
    throw input_error(place, fmt::format("no GPU has compute capability {}", text),
                      "Write the GPU's own, for example \"8.0\"");
  }
  if (capability_number(text) == 0 && device != "cpu") {
    throw input_error(place, "compute capability 0.0 is for CPU ranks", "Write the GPU's own, or device: cpu");
  }
}

// YAML takes 8.0 for a number where it is not in quotes.
void capability_field(SpecFields& fields, std::string& capability, const std::string& device) {
  if (fields.reading()) {
    const Tree& stated = fields.reader().required("compute_capability");
    note_form(stated, {Form::Kind::pattern, {"^[0-9]{1,2}(\\.[0-9]{1,2})?$"}, Bounds::from(0).to(kNewestCapability)});
    capability = with_minor(scalar_text(stated, "a compute capability such as \"8.0\""));
    return check_capability(capability, device, stated.place);
  }
  fields.take("compute_capability", capability);
}

// Either a share of the memory or so many bytes.
Bytes read_reserved(MapReader& reader, const GpuSpec& gpu) {
  const Tree* value = reader.value("reserved");
  if (value == nullptr) return usual_reserve(gpu);
  const LeafReader<Bytes> bytes = bytes_leaf();
  const LeafReader<double> share = share_leaf(Bounds::from(0).below(1));
  note_form(*value, bytes.form);
  note_form(*value, share.form);
  const std::string& text = scalar_text(*value, "a share or bytes");
  const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  const Bytes reserved =
      has_unit ? bytes(*value) : Bytes{static_cast<std::int64_t>(share(*value) * static_cast<double>(gpu.hbm.count))};
  if (reserved >= gpu.hbm) {
    throw input_error(value->place, "reserved leaves nothing of the GPU's memory", "Reserve less than hbm");
  }
  return reserved;
}

// A map of rates, or the one of fp32.
std::map<std::string, Flops> read_flops(MapReader& reader) {
  const Tree& value = reader.required("flops");
  note_form(value, flops_leaf().form);
  note_form(value, stated_map(1));
  if (value.kind != Tree::Kind::map) return {{"fp32", flops_leaf()(value)}};
  MapReader rates = reader.map("flops");
  std::map<std::string, Flops> flops;
  for (const char* const precision : kProductPrecisions)
    if (precision == kProductPrecisions.front() || rates.has(precision)) flops[precision] = rates.flops(precision);
  rates.finish();
  return flops;
}

void write_flops(SpecWriter& writer, const GpuSpec& gpu) {
  if (writer.is_sourced("flops")) {
    std::vector<std::string> rates;
    for (const auto& [dtype, rate] : gpu.flops) rates.push_back(dtype + ": " + yaml_quoted(exact_text(rate)));
    return writer.put("flops", "{" + join(rates) + "}");
  }
  writer.open("flops");
  for (const auto& [dtype, rate] : gpu.flops) writer.put(dtype, yaml_quoted(exact_text(rate)));
  writer.close();
}

void memory_fields(SpecFields& fields, GpuSpec& gpu) {
  fields.need("hbm", gpu.hbm, Bounds::from(1));
  if (fields.reading()) {
    gpu.reserved = read_reserved(fields.reader(), gpu);
  } else {
    fields.take("reserved", gpu.reserved);
  }
  fields.need("hbm_bandwidth", gpu.hbm_bandwidth);
  if (fields.reading()) gpu.copy_bandwidth = kCopyEfficiency * gpu.hbm_bandwidth;
  fields.take("copy_bandwidth", gpu.copy_bandwidth);
  if (fields.reading()) take_model_defaults(gpu);
  fields.take("l2", gpu.l2);
  fields.take("l2_bandwidth", gpu.l2_bandwidth);
  fields.take("sm_count", gpu.sm_count, 100'000);
}

void work_range_fields(SpecFields& fields, WorkRange& range) {
  fields.take("bytes_from", range.bytes_from);
  fields.take("bytes_to", range.bytes_to);
  fields.take_real("gflop_from", range.gflop_from, Bounds::from(0));
  fields.take_real("gflop_to", range.gflop_to, Bounds::from(0));
  if (!fields.reading()) return;
  if (range.bytes_to && *range.bytes_to < range.bytes_from)
    throw input_error(fields.reader().place_of("bytes_to"), "bytes_to is below bytes_from", "Write the larger one");
  if (range.gflop_to < range.gflop_from)
    throw input_error(fields.reader().place_of("gflop_to"), "gflop_to is below gflop_from", "Write the larger one");
}

void held_out_work_fields(SpecFields& fields, HeldOutWork& held_out) {
  fields.take_scale("lookup", held_out.lookup);
  fields.take_scale("update", held_out.update);
  fields.take_scale("product", held_out.product);
}

void refuse_unsorted_updates(MapReader& reader) {
  if (!reader.has("inplace_update_efficiency")) return;
  throw input_error(reader.place_of("inplace_update_efficiency"),
                    "inplace_update_efficiency would have no effect: updates run at copy_bandwidth times "
                    "sorted_update_efficiency, or as the compute model measured them",
                    "Remove it, and set sorted_update_efficiency instead");
}

void kernel_fields(SpecFields& fields, GpuSpec& gpu) {
  fields.take_part("flops_efficiency", gpu.flops_efficiency, 1);
  fields.take("kernel_overhead", gpu.kernel_overhead);
  fields.take("launch_overhead", gpu.launch_overhead);
  fields.take_real("lookups_per_ns", gpu.lookups_per_ns, Bounds::above(0));
  fields.take("sort_per_lookup", gpu.sort_per_lookup);
  fields.take("sorted_update_kernels", gpu.sorted_update_kernels, 10'000);
  fields.take_part("sorted_update_efficiency", gpu.sorted_update_efficiency, 1);
  fields.take_share("overlap_slowdown", gpu.overlap_slowdown, Bounds::from(0).below(1));  // 1 would stop compute
  fields.take_real("stream_sharing", gpu.stream_sharing, Bounds::from(0).to(kMostStreamSharing), kMeaningOfSharing);
  fields.map("holds_for", gpu.holds_for, work_range_fields);
  fields.map("held_out", gpu.held_out, held_out_work_fields);
  if (fields.reading()) refuse_unsorted_updates(fields.reader());
}

}  // namespace

int capability_number(const std::string& compute_capability) {
  const auto dot = compute_capability.find('.');
  return 10 * std::stoi(compute_capability.substr(0, dot)) + std::stoi(compute_capability.substr(dot + 1));
}

void gpu_fields(SpecFields& fields, GpuSpec& gpu, const std::string& device) {
  fields.need("model", gpu.model);
  fields.need("count", gpu.count, kMostGpusPerNode);
  capability_field(fields, gpu.compute_capability, device);
  memory_fields(fields, gpu);
  if (fields.reading()) {
    gpu.flops = read_flops(fields.reader());
  } else {
    write_flops(fields.writer(), gpu);
  }
  kernel_fields(fields, gpu);
}

GpuSpec usual_gpu(const GpuSpec& gpu) {
  GpuSpec usual;
  usual.model = gpu.model;
  usual.count = gpu.count;
  usual.compute_capability = gpu.compute_capability;
  usual.hbm = gpu.hbm;
  usual.reserved = usual_reserve(gpu);
  usual.hbm_bandwidth = gpu.hbm_bandwidth;
  usual.flops = gpu.flops;
  usual.copy_bandwidth = kCopyEfficiency * gpu.hbm_bandwidth;
  take_model_defaults(usual);
  return usual;
}

GpuSpec usual_gpu_beside_copies(const GpuSpec& gpu) {
  GpuSpec usual = usual_gpu(gpu);
  usual.copy_bandwidth = gpu.copy_bandwidth;
  take_model_defaults(usual);
  return usual;
}

std::vector<std::string> keys_without_effect(const GpuSpec& gpu) {
  const GpuSpec usual = usual_gpu_beside_copies(gpu);
  std::vector<std::string> keys;
  const bool launches = gpu.launch_overhead.value > 0 && gpu.launch_overhead != usual.launch_overhead;
  if (launches) keys.emplace_back("gpu.launch_overhead");
  if (gpu.l2 != usual.l2) keys.emplace_back("gpu.l2");
  if (gpu.l2_bandwidth != usual.l2_bandwidth) keys.emplace_back("gpu.l2_bandwidth");
  if (gpu.sm_count != usual.sm_count) keys.emplace_back("gpu.sm_count");
  return keys;
}

void host_fields(SpecFields& fields, HostSpec& host) {
  fields.take("memory", host.memory);
  fields.take("memory_bandwidth", host.memory_bandwidth);
  fields.take("gpu_link_bandwidth", host.gpu_link_bandwidth);
  fields.take_part("time_factor", host.time_factor, kMostHostTimeFactor);
}

}  // namespace shardsim
