#include "models/software/software.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "models/compute/dense_kernel.h"
#include "models/compute/gpus/kernel_family.h"

namespace shardsim {
namespace {

constexpr const char* kSoftwareSchema = "shardsim.software/1";
constexpr double kMostFactor = 10;   // slower than any software is
constexpr double kMostSharing = 10;  // above, work side by side would be far slower than one after the other

// Reads one key after another: a preset states all of them, a case those that differ.
class SoftwareReader {
 public:
  SoftwareReader(MapReader& reader, bool is_whole) : reader_(reader), is_whole_(is_whole) {}

  void take(const char* key, Seconds& time) {
    if (is_stated(key)) time = reader_.time(key);
  }
  void take_flag(const char* key, bool& flag) {
    if (is_stated(key)) flag = reader_.flag(key, flag);
  }
  void take_efficiency(const char* key, double& part) {
    if (is_stated(key)) part = reader_.efficiency(key, part);
  }
  void take_graph(const char* key, Software::Graph& graph) {
    if (!is_stated(key)) return;
    const std::string word = reader_.choice(key, {"none", "dense", "iteration"});
    graph = word == "none"    ? Software::Graph::none
            : word == "dense" ? Software::Graph::dense
                              : Software::Graph::iteration;
  }
  void take_kernels(const char* key, std::string& kernels) {
    if (is_stated(key)) kernels = reader_.choice(key, kernel_names());
  }
  void take_fused(const char* key, bool& fused) {
    if (is_stated(key)) fused = reader_.choice(key, {"eager", "fused"}) == "fused";
  }
  // Only presets of PyTorch state these.
  void take_pytorch(Software& software) {
    const char* const before = software.pytorch ? "pytorch" : "passes";
    software.pytorch = reader_.choice("dense_kernels", {"passes", "pytorch"}, before) == "pytorch";
    software.input_copies = reader_.flag("input_copies", software.input_copies);
    software.launch_in_update = reader_.time("launch_in_update", software.launch_in_update);
    software.optimizer_per_tensor = reader_.time("optimizer_per_tensor", software.optimizer_per_tensor);
    if (!software.pytorch || (!is_whole_ && !reader_.has("operator_times"))) return;
    MapReader times = reader_.map("operator_times");
    for (const std::string& op : dense_operators())
      if (is_whole_ || times.has(op)) software.operator_times[op] = times.time(op);
    times.finish();
  }
  void take_factor(const char* key, double& factor) {
    if (!is_stated(key)) return;
    factor = reader_.get(
        key, real_leaf(Bounds::from(1).to(kMostFactor), "1 means as fast as one fused kernel, 2 twice its time"));
  }
  void take_sharing(const char* key, double& sharing) {
    if (!is_stated(key)) return;
    sharing = reader_.get(key, real_leaf(Bounds::from(0).to(kMostSharing),
                                         "0 means that streams do not slow each other down; 1 that two operations "
                                         "side by side take as long as one after the other"));
  }

 private:
  bool is_stated(const char* key) {
    if (is_whole_) reader_.required(key);
    return reader_.has(key);
  }

  MapReader& reader_;
  bool is_whole_;
};

void read_constants(SoftwareReader fields, Software& software) {
  fields.take("launch", software.launch);
  fields.take("send_receive", software.send_receive);
  fields.take("launch_in_start", software.launch_in_start);
  fields.take_graph("graph", software.graph);
  fields.take("graph_launch", software.graph_launch);
  fields.take("graph_node", software.graph_node);
  fields.take("operator_forward", software.operator_forward);
  fields.take("operator_backward", software.operator_backward);
  fields.take("module_dist", software.module_dist);
  fields.take("module_call", software.module_call);
  fields.take("module_output", software.module_output);
  fields.take("module_backward", software.module_backward);
  fields.take("per_feature", software.per_feature);
  fields.take("per_table", software.per_table);
  fields.take("per_sample", software.per_sample);
  fields.take("fixed", software.fixed);
  fields.take_flag("blocking_waits", software.blocking_waits);
  fields.take_flag("runs_ahead", software.runs_ahead);
  fields.take("optimizer_sgd", software.optimizer_sgd);
  fields.take("optimizer_adagrad", software.optimizer_adagrad);
  fields.take("optimizer_adam", software.optimizer_adam);
  fields.take_kernels("kernels", software.kernels);
  fields.take("kernel_fixed", software.kernel_fixed);
  fields.take_efficiency("in_situ", software.in_situ);
  fields.take_factor("update_factor", software.update_factor);
  fields.take_efficiency("attention_share", software.attention_share);
  fields.take_fused("elementwise", software.fused);
  fields.take_sharing("stream_sharing", software.stream_sharing);
  fields.take_pytorch(software);
}

// A number that a case writes plainly has no source: that of the preset does not speak for it.
void keep_spoken_for(std::vector<SourcedValue>& preset, const Tree& map, std::vector<SourcedValue> own) {
  for (const auto& field : map.fields)
    std::erase_if(preset, [&](const SourcedValue& old) { return old.path == field.first; });
  preset.insert(preset.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
}

void require_known_graph(const Software& software, const SoftwareTable& table, const Place& place) {
  const std::vector<std::string> names = table.names();
  if (software.with_graph.empty() || std::ranges::find(names, software.with_graph) != names.end()) return;
  throw input_error(place,
                    fmt::format("'with_graph' of software {} names {}, which is not in the file",
                                excerpt(software.name), excerpt(software.with_graph)),
                    known_names_hint(software.with_graph, names));
}

}  // namespace

Seconds Software::optimizer_tensor(std::string_view optimizer) const {
  if (optimizer == "sgd") return optimizer_sgd;
  return optimizer == "adam" || optimizer == "lamb" ? optimizer_adam : optimizer_adagrad;
}

bool Software::operator==(const Software& other) const {
  const auto tied = [](const Software& s) {
    return std::tuple_cat(
        std::tie(s.name, s.launch, s.send_receive, s.launch_in_start, s.graph, s.graph_launch, s.graph_node,
                 s.operator_forward, s.operator_backward, s.module_dist, s.module_call, s.module_output,
                 s.module_backward),
        std::tie(s.per_feature, s.per_table, s.per_sample, s.fixed, s.blocking_waits, s.runs_ahead, s.optimizer_sgd,
                 s.optimizer_adagrad, s.optimizer_adam, s.kernels, s.kernel_fixed, s.in_situ, s.update_factor,
                 s.attention_share, s.fused, s.stream_sharing),
        std::tie(s.pytorch, s.operator_times, s.optimizer_per_tensor, s.input_copies, s.launch_in_update));
  };
  return tied(*this) == tied(other);
}

std::vector<std::string> SoftwareTable::names() const {
  std::vector<std::string> all;
  for (const Software& preset : presets) all.push_back(preset.name);
  return all;
}

SoftwareTable software_table_from_tree(const Tree& tree) {
  MapReader reader(tree, "");
  reader.choice("schema", {kSoftwareSchema});
  SoftwareTable table;
  for (const Tree& entry : reader.list("presets")) {
    Software software;
    MapReader fields(entry, "", &software.sources);
    software.name = fields.name("name");
    software.summary = fields.text("summary");
    if (fields.has("with_graph")) software.with_graph = fields.name("with_graph");
    read_constants({fields, true}, software);
    fields.finish();
    if (std::ranges::find(table.presets, software.name, &Software::name) != table.presets.end())
      throw input_error(entry.place, "software " + excerpt(software.name) + " appears twice", "Remove one of the two");
    table.presets.push_back(std::move(software));
  }
  reader.finish();
  for (const Software& each : table.presets) require_known_graph(each, table, tree.place);
  return table;
}

const SoftwareTable& shipped_software() {
  static const SoftwareTable table =
      software_table_from_tree(read_yaml_file((data_folder() / "scenarios" / "software" / "presets.yaml").string()));
  return table;
}

Software software_from_tree(const Tree& map, const SoftwareTable& known) {
  std::vector<SourcedValue> sources;
  note_part(map, "software");
  MapReader reader(map, "software", &sources);
  const std::string name = reader.get("name", word_leaf(known.names(), "software"));
  const auto preset = std::ranges::find(known.presets, name, &Software::name);
  Software software = *preset;
  software.place = reader.place_of("name");
  read_constants({reader, false}, software);
  reader.finish();
  for (SourcedValue& value : sources) value.path = value.path.substr(std::string("software.").size());
  keep_spoken_for(software.sources, map, std::move(sources));
  return software;
}

}  // namespace shardsim
