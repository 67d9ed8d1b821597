#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/import/imported_model.h"

namespace shardsim {

// The statements of a scenario that no table makes.
struct ImportSetting {
  std::string made_by;                // the command, for the first line of each file
  std::string cluster = "dgx_h100";   // as the scenario names it
  std::string cluster_from;           // the folder that a path of it starts at
  bool cluster_assumed = true;        // nobody named it
  std::optional<std::int64_t> nodes;  // absent: as many as the plan has, else as the cluster says
  std::int64_t batch_per_gpu = 4096;
  bool batch_assumed = true;
  std::string planner = "torchrec";  // where there is no plan
  std::string dense;  // lines of the workload that say what its dense part was measured at; "": there is none
  std::vector<std::string> notes;  // further assumptions
  // Keys that replace the cluster's `gpu`, where its own are of another one.
  std::vector<std::pair<std::string, std::string>> gpu_keys;
  std::int64_t gpus = 0;    // of a node; 0: as many as the plan has, else as the cluster says
  std::int64_t domain = 0;  // GPUs of a part of an NVLink domain over several hosts; 0: as the cluster says
  bool alone = false;       // one GPU of the cluster, which may have no node of one
  bool in_place = false;    // the workload stands in the scenario
  std::string workload_file = "workload.yaml", plan_file = "plan.json";  // as the scenario names them
};

struct ModelFiles {
  std::string scenario;
  std::string workload;  // "" where it stands in the scenario
  std::string plan;      // "" where the model has none

  // Writes them into a folder, as scenario.yaml, workload.yaml and plan.json. Errors: those of write_file().
  void write(const std::filesystem::path& folder) const;
};

// The texts of the files, read back before they are returned: what is written can be run. Errors (Failure::input): a
// cluster that is not there, or whose nodes have not as many GPUs as the plan's; what the plan says of tables that the
// model has otherwise.
ModelFiles model_files(const ImportedModel& model, const ImportSetting& setting);

// The GPUs of one host of the setting's cluster, and of one of its NVLink domains, which may span several hosts.
struct HostShape {
  std::int64_t gpus = 0, domain = 0;
};
HostShape host_shape(const ImportSetting& setting);

// The parts of a model beside its tables that somebody has stated.
struct StatedParts {
  bool dense = false, optimizer = false, pipeline = false, host = false;
};
// One sentence for each thing that tables do not say and that is assumed, and for the parts that nobody states.
std::vector<std::string> model_assumptions(const std::vector<ImportedTable>& tables, const StatedParts& stated);

// One sentence for each thing that was assumed, of how many tables; none where the file says everything.
std::vector<std::string> assumptions(const ImportedModel& model, const ImportSetting& setting);

}  // namespace shardsim
