#include "topology/spec/gpu_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr int kNewestCapability = 20;  // beyond any GPU announced

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

// A map of rates, or the one of fp32.
void read_flops(MapReader& reader, std::map<std::string, Flops>& flops) {
  const Tree& value = reader.required("flops");
  if (value.kind != Tree::Kind::map) {
    flops["fp32"] = reader.get("flops", flops_leaf());
    return;
  }
  MapReader rates = reader.map("flops");
  for (const char* const precision : kProductPrecisions)
    if (precision == kProductPrecisions.front() || rates.has(precision)) flops[precision] = rates.flops(precision);
  rates.finish();
}

void write_flops(YamlWriter& writer, const std::map<std::string, Flops>& flops) {
  const auto text = [](Flops rate) { return value_text(rate, flops_leaf().form); };
  if (writer.is_sourced("flops")) {
    std::vector<std::string> rates;
    for (const auto& [precision, rate] : flops) rates.push_back(precision + ": " + text(rate));
    return writer.put("flops", "{" + join(rates) + "}");
  }
  writer.open("flops");
  for (const auto& [precision, rate] : flops) writer.put(precision, text(rate));
  writer.close();
}

}  // namespace

// YAML takes 8.0 for a number where it is not in quotes.
LeafReader<std::string> capability_leaf() {
  const auto parse = [](std::string_view stated, const Place& place) {
    const std::string text = with_minor(std::string(stated));
    if (!is_capability(text))
      throw input_error(place, fmt::format("'{}' is no compute capability", text), "Write it as \"8.0\", in quotes");
    if (capability_number(text) > 10 * kNewestCapability)
      throw input_error(place, fmt::format("no GPU has compute capability {}", text),
                        "Write the GPU's own, for example \"8.0\"");
    return text;
  };
  const Form form{Form::Kind::pattern, {"^[0-9]{1,2}(\\.[0-9]{1,2})?$"}, Bounds::from(0).to(kNewestCapability)};
  return {form, "a compute capability such as \"8.0\"", parse};
}

LeafReader<Bytes> reserved_leaf(Bytes hbm) {
  const LeafReader<Bytes> bytes = bytes_leaf();
  const LeafReader<double> share = share_leaf(Bounds::from(0).below(1));
  const auto parse = [=](std::string_view text, const Place& place) {
    const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
    const Bytes reserved =
        has_unit ? bytes.parse(text, place)
                 : Bytes{static_cast<std::int64_t>(share.parse(text, place) * static_cast<double>(hbm.count))};
    if (reserved < hbm) return reserved;
    throw input_error(place, "reserved leaves nothing of the GPU's memory", "Reserve less than hbm");
  };
  return {bytes.form, "a share or bytes", parse, {share.form}};
}

void flops_key(Fields& map, std::map<std::string, Flops>& flops) {
  if (map.reading()) return read_flops(map.reader(), flops);
  if (map.writing()) return write_flops(map.writer(), flops);
  Shape shape;
  Fields rates(shape);
  for (const char* const precision : kProductPrecisions) {
    Flops rate;
    rates.take(precision, rate, "");
  }
  shape.keys.front().required_in = shape.maps;
  shape.forms = {stated_map(1), flops_leaf().form};
  map.custom("flops", shape,
             "the peak rates of dense products, by precision; a rate alone is that of fp32. The simulation uses the "
             "one that the dense part names. `fp64`, `fp8` and `int8` are recorded only",
             true);
}

Bytes GpuSpec::usual_reserve() const {
  double least = std::numeric_limits<double>::infinity();  // memory of the family's products
  for (const GpuModel& product : gpu_models()) {
    if (is_word_in(gpu_product_of(product.name), model))
      least = std::min(least, static_cast<double>(parse_bytes(std::string(product.hbm), {}).count));
  }
  const auto memory = static_cast<double>(hbm.count);
  if (memory < kBudgetShare * least) return {0};
  return {std::min(kReservedBytes, static_cast<std::int64_t>(kReservedShare * memory))};
}

void GpuSpec::take_usual_chip() {
  l2_bandwidth = copy_bandwidth;
  for (const ModelDefaults& family : kModels) {
    if (!is_word_in(family.name, model)) continue;
    l2 = family.l2;
    l2_bandwidth = family.l2_bandwidth;
    sm_count = family.sm_count;
  }
  for (const GpuModel& product : gpu_models()) {
    if (product.name != model) continue;
    l2 = parse_bytes(std::string(product.l2), {});
    sm_count = product.sm_count;
  }
  sort_per_lookup = {kSortOfSms.value / sm_count};
}

int capability_number(const std::string& compute_capability) {
  if (compute_capability.empty()) return 0;
  const auto dot = compute_capability.find('.');
  return 10 * std::stoi(compute_capability.substr(0, dot)) + std::stoi(compute_capability.substr(dot + 1));
}

GpuSpec usual_gpu(const GpuSpec& gpu) {
  GpuSpec usual;
  usual.model = gpu.model;
  usual.count = gpu.count;
  usual.compute_capability = gpu.compute_capability;
  usual.hbm = gpu.hbm;
  usual.reserved = gpu.usual_reserve();
  usual.hbm_bandwidth = gpu.hbm_bandwidth;
  usual.flops = gpu.flops;
  usual.copy_bandwidth = kCopyEfficiency * gpu.hbm_bandwidth;
  usual.take_usual_chip();
  return usual;
}

GpuSpec usual_gpu_beside_copies(const GpuSpec& gpu) {
  GpuSpec usual = usual_gpu(gpu);
  usual.copy_bandwidth = gpu.copy_bandwidth;
  usual.take_usual_chip();
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

}  // namespace shardsim
