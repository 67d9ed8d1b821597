#include "study/scenario/read_software.h"

#include <fmt/core.h>

#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/compute/learned_model.h"
#include "study/scenario/read_planner.h"

namespace shardsim {
namespace {

// Keys of the compute models gpu_kernels and learned that software states, too.
constexpr const char* kKernelKeys[] = {"in_situ", "kernel_fixed", "update_factor"};

// The kernels of the software are those that the compute model times; streams share the GPU as the cluster says, else
// as the software does.
void give_kernels(const Software& software, Case& item) {
  if (has_kernel_constants(item.compute_model)) {
    for (const char* const key : kKernelKeys) {
      const Tree* const stated = item.compute_model.find(key);
      if (stated == nullptr) continue;
      throw input_error(
          stated->place,
          fmt::format("the compute model states '{}', but software {} has such a value, too", key, software.name),
          fmt::format("Write it only once, as software.{}", key));
    }
    item.compute_model.fields.emplace_back("in_situ", text_tree(fmt::format("{}", software.in_situ), software.place));
    item.compute_model.fields.emplace_back("kernel_fixed",
                                           text_tree(fmt::format("{} s", software.kernel_fixed.value), software.place));
    if (software.launch_in_update.value > 0 && item.compute_model.find("launch_in_update") == nullptr)
      item.compute_model.fields.emplace_back(
          "launch_in_update", text_tree(fmt::format("{} s", software.launch_in_update.value), software.place));
    if (software.update_factor != 1) {
      item.compute_model.fields.emplace_back("update_factor",
                                             text_tree(fmt::format("{}", software.update_factor), software.place));
    }
  }
  if (!item.cluster.places.states("gpu.stream_sharing")) item.cluster.gpu.stream_sharing = software.stream_sharing;
}

// Takes out of a case's compute model what its software gave: no other key of it has the place of `software`.
void take_kernels(const Software& software, Case& item) {
  std::erase_if(item.compute_model.fields, [&](const auto& field) {
    const auto& [key, value] = field;
    return value.place == software.place || (key == "kernels" && value.place == item.compute_model.place);
  });
}

}  // namespace

Tree read_compute_model(MapReader& reader, const Case& item) {
  const Tree* const stated = reader.value("compute_model");
  Tree options = stated == nullptr ? named_map(usual_compute_model(item.cluster.gpu), item.place)
                                   : model_map(reader, "compute_model");
  if (options.find("name") != nullptr) return options;
  const Tree name = text_tree(usual_compute_model(item.cluster.gpu), options.place);
  options.fields.emplace(options.fields.begin(), "name", name);
  return options;
}

void read_software(MapReader& reader, Case& item) {
  const Tree* const stated = reader.value("software");
  if (stated == nullptr) return;
  note_form(*stated, stated_map());
  if (stated->kind != Tree::Kind::map)
    throw input_error(stated->place,
                      fmt::format("'software' must be a name or a map, but is {}", kind_name(stated->kind)),
                      "Write 'software: NAME', or {name: NAME, launch: 3 us}");
  item.software = software_from_tree(*stated, shipped_software());
  if (item.workload.dense.measured)
    throw input_error(stated->place, "'software' and dense.measured cannot be used together",
                      "The measured time includes the host's: leave one of the two out");
  give_kernels(*item.software, item);
}

void give_family(Case& item) {
  if (!has_kernel_constants(item.compute_model) || item.compute_model.find("kernels") != nullptr) return;
  const std::string family = item.software ? item.software->kernels : kUsualKernels;
  item.compute_model.fields.emplace_back("kernels", text_tree(family, item.compute_model.place));
}

Case with_software(Case item, const Software& preset) {
  Software software = preset;
  if (item.software) {
    take_kernels(*item.software, item);
    software.place = item.software->place;
  }
  item.software = std::move(software);
  give_kernels(*item.software, item);
  give_family(item);
  return item;
}

}  // namespace shardsim
