#include "models/compute/gpus/kernel_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <mutex>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "models/access/row_lines.h"

namespace shardsim {
namespace {

constexpr const char* kKernelsSchema = "shardsim.kernels/1";
constexpr int kMostLanes = 32, kMostCubeSide = 1 << 16;
constexpr double kSteepestDrain = 16, kMostNumber = 1024;

// Reads numbers of one part of the file by their types.
struct NumberReader {
  MapReader& reader;

  void operator()(const char* key, Seconds& time) const { time = reader.time(key); }
  void operator()(const char* key, Bandwidth& rate) const { rate = reader.rate(key); }
  void operator()(const char* key, Bytes& bytes) const { bytes = reader.bytes(key); }
  void operator()(const char* key, double& number) const {
    if (std::string_view(key) == "drain") {
      number = reader.real(key, Bounds::from(1).to(kSteepestDrain));
    } else {
      number = reader.real(key, Bounds::from(0).to(kMostNumber));
    }
  }
};

int power_of_two(MapReader& reader, const char* key, int least, int most) {
  const std::int64_t count = reader.count(key, Bounds::from(least).to(most));
  if ((count & (count - 1)) == 0) return static_cast<int>(count);
  throw input_error(reader.place_of(key), fmt::format("'{}' is {}", key, count), "Give a power of two");
}

double ratio(double own, double other) {
  return other > 0 ? own / other : 1;
}

void scale(Bandwidth& rate, double factor) {
  rate.bytes_per_second *= factor;
}

void scale(Bytes& bytes, double factor) {
  bytes.count = static_cast<std::int64_t>(factor * static_cast<double>(bytes.count));
}

// Work of all SMs together takes less time on more of them.
void spread(std::initializer_list<Seconds*> times, double sms) {
  for (Seconds* const time : times) time->value /= sms;
}

}  // namespace

std::vector<std::string> table_kernel_names() {
  return {"executor", "fbgemm"};
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names = table_kernel_names();
  names.insert(names.begin(), kBagKernels);
  names.emplace_back(kHugectrKernels);
  return names;
}

KernelFamily kernel_family_from_tree(const Tree& tree) {
  KernelFamily family;
  MapReader reader(tree, "", &family.sources);
  reader.choice("schema", {kKernelsSchema});
  family.name = reader.text("name");
  family.gpu = reader.text("gpu");
  family.l1 = reader.bytes("l1");
  family.l2_share = reader.efficiency("l2_share", 1);
  family.least_lanes = power_of_two(reader, "least_lanes", 1, kMostLanes);
  family.own_lanes = reader.choice("lanes_by", {"widest", "own"}, "widest") == "own";
  family.row_alignment = power_of_two(reader, "row_alignment", 1, static_cast<int>(kFarthestAlignment));
  family.cube_side = reader.count("cube_side", Bounds::from(0).to(kMostCubeSide), 0);
  MapReader lookup = reader.map("lookup"), update = reader.map("update");
  visit_numbers(family, [&](std::string_view part, const char* key, auto& number) {
    NumberReader{part == "lookup" ? lookup : update}(key, number);
  });
  lookup.finish();
  update.finish();
  reader.finish();
  return family;
}

// A process reads each of them once: every case of a sweep asks for it.
KernelFamily shipped_kernel_family(const std::string& name, const Place& place) {
  const std::vector<std::string> known = table_kernel_names();
  if (std::ranges::find(known, name) == known.end())
    throw input_error(place, "unknown kernels " + excerpt(name), known_names_hint(name, kernel_names()));
  static std::mutex mutex;
  static std::map<std::string, KernelFamily> read;
  const std::scoped_lock lock(mutex);
  const auto [family, is_new] = read.try_emplace(name);
  if (!is_new) return family->second;
  try {
    return family->second = kernel_family_from_tree(
               read_yaml_file((data_folder() / "scenarios" / "gpus" / (name + ".yaml")).string()));
  } catch (...) {
    read.erase(family);
    throw;
  }
}

KernelFamily with_starts(KernelFamily family, double factor) {
  KernelFamily::Update& update = family.update;
  for (Seconds* const fixed : {&family.lookup.start, &update.start, &update.table, &update.sort_pass})
    fixed->value *= factor;
  return family;
}

KernelFamily carried_to(KernelFamily family, const GpuConstants& gpu, const GpuConstants& reference) {
  const double copy = ratio(gpu.copy_bandwidth.bytes_per_second, reference.copy_bandwidth.bytes_per_second);
  const double cache = ratio(gpu.gather_l2.bytes_per_second, reference.gather_l2.bytes_per_second);
  const double sms = ratio(gpu.sm_count, reference.sm_count);
  scale(family.lookup.memory, copy);
  scale(family.update.memory, copy);
  scale(family.lookup.cache, cache);
  scale(family.update.cache, cache);
  scale(family.lookup.written_back, ratio(static_cast<double>(gpu.l2.count), static_cast<double>(reference.l2.count)));
  spread({&family.lookup.row_issue, &family.lookup.vector_issue}, sms);
  KernelFamily::Update& update = family.update;
  spread({&update.bag, &update.pass_pair, &update.pair, &update.row, &update.row_lanes, &update.state, &update.gradient,
          &update.piece, &update.piece_gradient},
         sms);
  return family;
}

}  // namespace shardsim
