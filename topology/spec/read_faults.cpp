#include <fmt/format.h>

#include "topology/spec/readers.h"

namespace shardsim {
namespace {

constexpr int kMostIndex = 1'000'000;

void check_what(const FaultSpec& fault, bool has_factor, const Place& place) {
  if (fault.gpu.has_value() == fault.nic.has_value()) {
    throw input_error(place, "a fault names one GPU or one NIC", "Write gpu or nic, not both");
  }
  if (!has_factor) {
    throw input_error(place, "a fault without effect", "Write rate_factor or compute_factor");
  }
  if (fault.nic && fault.compute_factor != 1) {
    throw input_error(place, "a NIC does not compute", "Write compute_factor with a gpu");
  }
}

FaultSpec read_fault(const Tree& item, const std::string& path, Sources* sources) {
  MapReader reader(item, path, sources);
  FaultSpec fault;
  fault.node = read_index(reader.required("node"), kMostIndex, "node");
  if (reader.has("gpu")) fault.gpu = read_index(reader.required("gpu"), kMostIndex, "GPU");
  if (reader.has("nic")) fault.nic = read_index(reader.required("nic"), kMostIndex, "NIC");
  fault.rate_factor = reader.efficiency("rate_factor", 1);
  fault.compute_factor = reader.efficiency("compute_factor", 1);
  check_what(fault, reader.has("rate_factor") || reader.has("compute_factor"), item.place);
  reader.finish();
  return fault;
}

}  // namespace

std::vector<FaultSpec> read_faults(const std::vector<Tree>& list, Sources* sources) {
  std::vector<FaultSpec> faults;
  for (const Tree& item : list) {
    faults.push_back(read_fault(item, fmt::format("faults.{}", faults.size()), sources));
  }
  return faults;
}

}  // namespace shardsim
