#include <algorithm>

#include "base/files.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "validate/measurements/read/system_map.h"

namespace shardsim {
namespace {

constexpr const char* kLeftOutFitsSchema = "shardsim.left_out_fits/1";

std::optional<NcclGeneration> generation_of(MapReader& reader) {
  if (!reader.has("generation")) return std::nullopt;
  const std::string name = reader.choice("generation", {kGenerations.begin(), kGenerations.end()});
  return static_cast<NcclGeneration>(std::ranges::find(kGenerations, name) - kGenerations.begin());
}

FittedOverhead row_of(const Tree& tree) {
  MapReader reader(tree, "row");
  FittedOverhead row;
  reader.required("kinds");
  row.kinds = reader.texts("kinds");
  row.across_nodes = reader.choice("reach", {"in_node", "across_nodes"}) == "across_nodes";
  row.network = reader.text("network", "");
  row.generation = generation_of(reader);
  if (reader.has("fill")) row.fill = reader.time("fill");
  if (reader.has("efficiency")) row.efficiency = reader.efficiency("efficiency", 1);
  if (reader.has("nic_efficiency")) row.nic_efficiency = reader.efficiency("nic_efficiency", 1);
  reader.finish();
  return row;
}

}  // namespace

bool LeftOutFits::saw(const std::string& system) const {
  return std::ranges::find(without, system, &std::pair<std::string, FitTable>::first) != without.end();
}

const FitTable& LeftOutFits::table_for(const std::string& system) const {
  const auto found = std::ranges::find(without, system, &std::pair<std::string, FitTable>::first);
  return found == without.end() ? open_data_fits() : found->second;
}

LeftOutFits left_out_fits_from_tree(const Tree& tree) {
  LeftOutFits fits;
  MapReader reader(tree, "");
  reader.choice("schema", {kLeftOutFitsSchema});
  for (const Tree& entry : reader.list("systems")) {
    MapReader system(entry, "systems");
    const std::string label = system.text("without");
    FitTable table = open_data_fits();
    table.source += ", without " + label;
    for (const Tree& row : system.list("rows")) table.rows.push_back(row_of(row));  // later rows win
    system.finish();
    fits.without.emplace_back(label, std::move(table));
  }
  reader.finish();
  return fits;
}

LeftOutFits shipped_left_out_fits() {
  return left_out_fits_from_tree(
      read_yaml_file((data_folder() / "scenarios" / "measurements" / "left_out_fits.yaml").string()));
}

}  // namespace shardsim
