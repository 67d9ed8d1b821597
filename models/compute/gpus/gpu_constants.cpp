#include "models/compute/gpus/gpu_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr const char* kGpusSchema = "shardsim.gpus/1";
constexpr double kMostShare = 1.0;

// "NVIDIA A100 80 GB PCIe" as NVIDIA, A100, 80GB, PCIE.
std::vector<std::string> words_in(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i + 1] == "GB") words[i] += "GB";
  return words;
}

// Reads one number after another, each either stated or that of the GPU it is like.
class ConstantsReader {
 public:
  ConstantsReader(MapReader& reader, GpuConstants& gpu, bool is_like) : reader_(reader), gpu_(gpu), is_like_(is_like) {}

  void take(const char* key, Bandwidth& rate) {
    if (is_stated(key)) rate = reader_.rate(key);
  }
  void take(const char* key, Bytes& bytes) {
    if (is_stated(key)) bytes = reader_.bytes(key);
  }
  void take(const char* key, Seconds& time) {
    if (is_stated(key)) time = reader_.time(key);
  }
  void take(const char* key, int& count) {
    if (is_stated(key)) count = static_cast<int>(reader_.count(key));
  }
  void take_share(const char* key, double& share) {
    if (is_stated(key)) share = reader_.efficiency(key, kMostShare);
  }
  void take_rate(const char* key, double& number) {
    if (!is_stated(key)) return;
    number = reader_.real(key, Bounds::above(0));
  }
  void take_capability() {
    if (reader_.has("compute_capability"))
      gpu_.compute_capability = reader_.get("compute_capability", capability_leaf());
  }
  void take_flops() {
    if (!is_stated("flops")) return;
    gpu_.flops.clear();
    MapReader rates = reader_.map("flops");
    for (const char* const precision : kProductPrecisions)
      if (rates.has(precision)) gpu_.flops[precision] = rates.flops(precision);
    rates.finish();
  }

 private:
  bool is_stated(const char* key) {
    if (!is_like_) reader_.required(key);
    return reader_.has(key);
  }

  MapReader& reader_;
  GpuConstants& gpu_;
  bool is_like_;
};

void read_constants(ConstantsReader& fields, GpuConstants& gpu) {
  fields.take_capability();
  fields.take("hbm_bandwidth", gpu.hbm_bandwidth);
  fields.take("copy_bandwidth", gpu.copy_bandwidth);
  fields.take("l2", gpu.l2);
  fields.take_share("l2_share", gpu.l2_share);
  fields.take("gather_l2", gpu.gather_l2);
  fields.take("sm_count", gpu.sm_count);
  fields.take("bytes_in_flight", gpu.bytes_in_flight);
  fields.take("dram_latency", gpu.dram_latency);
  fields.take_share("row_read_share", gpu.row_read_share);
  fields.take_share("row_update_share", gpu.row_update_share);
  fields.take_rate("lookups_per_ns", gpu.lookups_per_ns);
  fields.take("kernel_fixed", gpu.kernel_fixed);
  fields.take("sort_fixed", gpu.sort_fixed);
  fields.take("sort_pass_fixed", gpu.sort_pass_fixed);
  fields.take_rate("sort_pairs_per_ns", gpu.sort_pairs_per_ns);
  fields.take_share("sort_share", gpu.sort_share);
  fields.take_share("in_place_share", gpu.in_place_share);
  fields.take_share("in_place_share_2gb", gpu.in_place_share_2gb);
  fields.take_share("in_place_share_adagrad", gpu.in_place_share_adagrad);
  fields.take_share("all_rows_share", gpu.all_rows_share);
  fields.take_flops();
  fields.take_share("fp32_share", gpu.fp32_share);
  fields.take_share("tensor_core_share", gpu.tensor_core_share);
  fields.take_rate("bags_of_sm", gpu.bags_of_sm);
  fields.take_share("gradient_miss_share", gpu.gradient_miss_share);
  fields.take_share("exposed_write", gpu.exposed_write);
  fields.take_share("tile_128x128_share", gpu.tile_128x128_share);
  fields.take_share("tile_128x64_share", gpu.tile_128x64_share);
  fields.take_share("tile_64x64_share", gpu.tile_64x64_share);
}

const GpuConstants& named_gpu(const GpuTable& table, const std::string& name, const Place& place) {
  const auto found = std::ranges::find(table.gpus, name, &GpuConstants::name);
  if (found != table.gpus.end()) return *found;
  throw input_error(place, "unknown GPU " + excerpt(name), known_names_hint(name, table.names()));
}

// The sources that an entry states replace those of the same keys in the entry that its `like` names.
void merge_sources(std::vector<SourcedValue>& all, std::vector<SourcedValue> own) {
  for (SourcedValue& value : own) {
    std::erase_if(all, [&](const SourcedValue& old) { return old.path == value.path; });
    all.push_back(std::move(value));
  }
}

GpuConstants read_gpu(const Tree& tree, const GpuTable& known) {
  std::vector<SourcedValue> sources;
  MapReader reader(tree, "", &sources);
  const std::string name = reader.text("name");
  const bool is_like = reader.has("like");
  GpuConstants gpu;
  if (is_like) gpu = named_gpu(known, reader.text("like"), reader.place_of("like"));
  gpu.name = name;
  gpu.words = reader.texts("words");
  if (gpu.words.empty()) gpu.words = {name};
  // A number that is written plainly has no source: that of the other GPU does not speak for it.
  for (const auto& field : tree.fields)
    std::erase_if(gpu.sources, [&](const SourcedValue& old) { return old.path == field.first; });
  ConstantsReader fields(reader, gpu, is_like);
  read_constants(fields, gpu);
  reader.finish();
  merge_sources(gpu.sources, std::move(sources));
  return gpu;
}

}  // namespace

double GpuConstants::random_row_rate(double share) const {
  const double in_flight = sm_count * static_cast<double>(bytes_in_flight.count) / dram_latency.value;
  return std::min(share * copy_bandwidth.bytes_per_second, in_flight);
}

double GpuConstants::share_of_peak(const std::string& precision) const {
  return precision == "fp32" || precision == "fp64" ? fp32_share : tensor_core_share;
}

bool GpuConstants::is_fitted_on(const std::string& row_id) const {
  return std::ranges::any_of(sources, [&](const SourcedValue& value) {
    return value.fitted && std::ranges::find(value.fitted_on, row_id) != value.fitted_on.end();
  });
}

const GpuConstants* GpuTable::find(const std::string& name) const {
  const std::vector<std::string> said = words_in(name);
  const GpuConstants* best = nullptr;
  for (const GpuConstants& gpu : gpus) {
    if (gpu.name == name) return &gpu;
    const bool fits = std::ranges::all_of(gpu.words, [&](const std::string& word) {
      const std::vector<std::string> parts = words_in(word);
      return std::ranges::all_of(parts, [&](const auto& part) { return std::ranges::count(said, part) > 0; });
    });
    if (fits && (best == nullptr || gpu.words.size() > best->words.size())) best = &gpu;
  }
  return best;
}

std::vector<std::string> GpuTable::names() const {
  std::vector<std::string> all;
  for (const GpuConstants& gpu : gpus) all.push_back(gpu.name);
  return all;
}

const GpuConstants* GpuTable::nearest(const GpuSpec& gpu) const {
  const int wanted = capability_number(gpu.compute_capability);
  const auto distance = [&](const GpuConstants& known) {
    const int capability = capability_number(known.compute_capability);
    const double rates = known.hbm_bandwidth.bytes_per_second / gpu.hbm_bandwidth.bytes_per_second;
    return std::tuple{capability > wanted, std::abs(capability - wanted), std::abs(std::log(rates))};
  };
  const GpuConstants* best = nullptr;
  for (const GpuConstants& known : gpus) {
    if (known.compute_capability.empty()) continue;
    if (best == nullptr || distance(known) < distance(*best)) best = &known;
  }
  return best;
}

std::optional<GpuConstants> GpuTable::constants_of(const std::string& name, const GpuSpec& gpu) const {
  if (const GpuConstants* const known = find(name.empty() ? gpu.model : name)) return with_stated(*known, gpu);
  if (capability_number(gpu.compute_capability) == 0) return std::nullopt;
  const GpuConstants* const like = nearest(gpu);
  if (like == nullptr) return std::nullopt;
  return with_stated(scaled_to(*like, gpu), gpu);
}

GpuConstants scaled_to(GpuConstants nearest, const GpuSpec& gpu) {
  const GpuSpec usual = usual_gpu(gpu);
  const double rate = gpu.flops.at("fp32").per_second / nearest.flops.at("fp32").per_second;
  const double spoken_for = std::max(1.0, std::round(rate * nearest.sm_count));
  const int sms = gpu.sm_count != usual.sm_count ? gpu.sm_count : static_cast<int>(spoken_for);
  nearest.l2.count = static_cast<std::int64_t>(static_cast<double>(nearest.l2.count) * sms / nearest.sm_count);
  nearest.sm_count = sms;
  nearest.gather_l2.bytes_per_second *= rate;
  nearest.lookups_per_ns *= rate;
  nearest.sort_pairs_per_ns *= rate;
  nearest.name = gpu.model;
  return nearest;
}

GpuTable gpu_table_from_tree(const Tree& tree, GpuTable base) {
  MapReader reader(tree, "");
  reader.choice("schema", {kGpusSchema});
  std::vector<std::string> own;
  for (const Tree& entry : reader.list("gpus")) {
    GpuConstants gpu = read_gpu(entry, base);
    if (std::ranges::find(own, gpu.name) != own.end())
      throw input_error(entry.place, "GPU " + excerpt(gpu.name) + " appears twice", "Remove one of the two");
    own.push_back(gpu.name);
    std::erase_if(base.gpus, [&](const GpuConstants& old) { return old.name == gpu.name; });
    base.gpus.push_back(std::move(gpu));
  }
  reader.finish();
  return base;
}

GpuTable read_gpu_table(const std::string& path, GpuTable base) {
  return gpu_table_from_tree(read_yaml_file(path), std::move(base));
}

// A process reads it once: a case, the judge of its iteration and its notes ask for it.
GpuTable shipped_gpu_table() {
  static const GpuTable table = read_gpu_table((data_folder() / "scenarios" / "gpus" / "kernels.yaml").string());
  return table;
}

GpuSpec spec_of(const GpuConstants& constants) {
  GpuSpec gpu;
  gpu.model = constants.name;
  gpu.count = 1;
  gpu.hbm_bandwidth = constants.hbm_bandwidth;
  gpu.flops = constants.flops;
  return usual_gpu(gpu);
}

GpuConstants with_starts(GpuConstants constants, double factor) {
  for (Seconds* const fixed : {&constants.kernel_fixed, &constants.sort_fixed, &constants.sort_pass_fixed})
    fixed->value *= factor;
  return constants;
}

GpuConstants with_stated(GpuConstants constants, const GpuSpec& gpu) {
  const GpuSpec usual = usual_gpu(gpu);
  // The rate of an unknown product's L2 follows from that of copies when a file is read, and stays where copies change
  // later.
  const bool l2_follows = gpu.l2_bandwidth == usual_gpu_beside_copies(gpu).l2_bandwidth;
  // Copies reach the same part of another rate of the data sheet.
  constants.copy_bandwidth =
      (gpu.hbm_bandwidth.bytes_per_second / constants.hbm_bandwidth.bytes_per_second) * constants.copy_bandwidth;
  if (gpu.copy_bandwidth != usual.copy_bandwidth) constants.copy_bandwidth = gpu.copy_bandwidth;
  if (gpu.l2 != usual.l2) constants.l2 = gpu.l2;
  if (gpu.l2_bandwidth != usual.l2_bandwidth && !l2_follows) constants.gather_l2 = gpu.l2_bandwidth;
  if (gpu.sm_count != usual.sm_count) constants.sm_count = gpu.sm_count;
  if (gpu.lookups_per_ns != usual.lookups_per_ns) constants.lookups_per_ns = gpu.lookups_per_ns;
  if (gpu.kernel_overhead != usual.kernel_overhead) constants.kernel_fixed = gpu.kernel_overhead;
  constants.flops = gpu.flops;
  return constants;
}

}  // namespace shardsim
