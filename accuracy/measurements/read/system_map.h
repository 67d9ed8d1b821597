#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/measurements/read/measurements.h"
#include "base/error.h"
#include "base/tree/tree.h"
#include "models/collective/fitted_overheads.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// A measured system in our terms.
struct MappedSystem {
  std::string label;                 // as the measurements write it, but with "_" for "-", as keys are read
  std::string cluster;               // shipped name or path, for reports
  ClusterSpec spec;                  // the cluster's file with the entry's overrides
  int nodes = 0, gpus_per_node = 0;  // for measurements that do not say it; 0: not said here either
  std::string setting = {};          // only for rows of this case of theirs; "": for rows without an entry of their own
};

// Rows that no prediction is claimed for, told by what is known before predicting. Every condition that is set must
// hold.
struct OutOfModel {
  std::string system, setting;  // equal
  std::string notes;            // contained
  std::vector<int> nodes;       // one of
  std::string reason;

  bool covers(const MeasuredRow& row) const;
};

// The map of `collective compare` (docs/formats/comparisons.md, system map).
struct SystemMap {
  std::string path;
  std::vector<MappedSystem> systems;
  std::vector<std::pair<std::string, Error>> faulty;  // labels whose entries cannot be read, and why
  std::vector<OutOfModel> out_of_model;

  // As SystemsByLabel has it, which whoever asks for many rows makes once.
  const MappedSystem& system_of(const MeasuredRow& row) const;
  // The first reason that covers the row, or "".
  std::string why_out_of_model(const MeasuredRow& row) const;
};

// The systems of a map by their labels, so that maps of thousands are searched once. The map outlives it unchanged.
class SystemsByLabel {
 public:
  explicit SystemsByLabel(const SystemMap& map);

  // Errors (Failure::input): at the row, a label that the map lacks, with the likely ones; at the entry, its fault.
  const MappedSystem& of(const MeasuredRow& row) const;

 private:
  const SystemMap& map_;
  std::map<std::string, std::vector<const MappedSystem*>> systems_;  // of each label, in the order of the map
};

// An entry that cannot be read costs its own system alone. Errors: Failure::input with place, for the map's own keys;
// the fault of the first entry where none can be read.
SystemMap read_system_map(const std::string& path);
SystemMap system_map_from_tree(const Tree& tree, const std::string& path);

// The fits to the open measurements, each without one of their systems: that system is judged by that fit, so that no
// figure of it went into its own prediction.
struct LeftOutFits {
  std::vector<std::pair<std::string, FitTable>> without;  // by system label

  // The table for a system: the one fitted without it, or the whole one for a system that the fit never saw.
  const FitTable& table_for(const std::string& system) const;
  bool saw(const std::string& system) const;
};

// The shipped scenarios/measurements/left_out_fits.yaml: per system, the rows that replace those of open_data_fits().
LeftOutFits shipped_left_out_fits();

// Errors: Failure::input with place.
LeftOutFits left_out_fits_from_tree(const Tree& tree);

}  // namespace shardsim
