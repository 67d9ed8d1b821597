#include "study/scenario/named_tree.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "models/software/software.h"
#include "study/scenario/scenario.h"
#include "study/scenario/tables_from.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr int kMostBases = 8;
constexpr std::size_t kMostJobs = 1000;

bool is_shipped_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string singular(const std::string& kind) {
  return kind.substr(0, kind.size() - 1);
}

std::string schema_of(const std::string& kind) {
  return fmt::format("shardsim.{}/1", singular(kind));
}

std::string shipped_path(const std::string& name, const std::string& kind, const Place& place) {
  const std::string path = (data_folder() / "scenarios" / kind / (name + ".yaml")).string();
  if (!is_file(path)) {
    throw input_error(place, fmt::format("unknown {} {}", singular(kind), excerpt(name)),
                      known_names_hint(name, shipped(kind)) + " A file of your own is named by its path, with .yaml.");
  }
  return path;
}

std::string path_of(const std::string& name, const std::string& kind, const std::string& from, const Place& place) {
  if (name.empty() || name.find('\0') != std::string::npos) {
    throw input_error(place, fmt::format("the {} has no name", singular(kind)), known_names_hint(name, shipped(kind)));
  }
  if (is_shipped_name(name)) return shipped_path(name, kind, place);
  std::string path = path_from(from, name);
  // Nothing leads out of a folder that is still to be made, as that of an imported scenario may be.
  if (!is_there(path)) path = std::filesystem::path(path).lexically_normal().string();
  if (!is_file(path)) {  // a device or pipe could feed bytes without end
    throw input_error(
        place,
        fmt::format("{} file {}",
                    is_there(path) ? fmt::format("not a {}", singular(kind))
                                   : fmt::format("cannot find the {}", singular(kind)),
                    excerpt(path)),
        fmt::format("Paths are relative to {}; a shipped one is named without folder and .yaml: ",
                    place.source.starts_with("argument ") ? "the working folder" : "the file that names them") +
            join(shipped(kind)) + ".");
  }
  return path;
}

// Joined to a folder an empty name would be that folder, and what then reads it knows no line of the scenario.
Tree located_file(Tree value, const std::string& folder) {
  if (value.kind != Tree::Kind::scalar) return value;
  if (value.scalar.empty()) throw input_error(value.place, "the file has no name", "Name a file, or leave the key out");
  value.scalar = path_from(folder, value.scalar);
  return value;
}

// File names inside a workload are relative to the file that states them; merged with others they must not be.
void localise_files(Tree& tree, const std::string& folder) {
  Tree* const dense = tree.find("dense");
  if (Tree* const trace = dense == nullptr || dense->kind != Tree::Kind::map ? nullptr : dense->find("trace"))
    *trace = located_file(std::move(*trace), folder);
  Tree* const tables = tree.find("tables");
  if (tables == nullptr) return;
  for (Tree& table : tables->items) {
    for (const char* const key : {"access", "length_distribution"}) {
      Tree* const map = table.find(key);
      Tree* const file = map == nullptr ? nullptr : map->find("file");
      if (file != nullptr) *file = located_file(std::move(*file), folder);
    }
  }
}

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path result = fs::weakly_canonical(path, error);
  return error ? path : result.string();
}

// True when a map says of its base's NICs only how fast they are: not how many, nor of which network, nor of whose
// cluster.
bool changes_rate_alone(const Tree& cluster) {
  const Tree* const nics = cluster.find("nics");
  if (nics == nullptr || nics->kind != Tree::Kind::map || cluster.find("name") != nullptr) return false;
  static constexpr const char* kOfTheKind[] = {"per_gpu", "shared_by", "per_node", "transport"};
  return std::ranges::none_of(kOfTheKind, [&](const char* key) { return nics->find(key) != nullptr; });
}

// Follows `base` from one map to the next, nearest first.
class BaseChain {
 public:
  BaseChain(const std::string& kind, LoadedTrees& loaded, int depth = 0)
      : kind_(kind), loaded_(loaded), depth_(depth) {}

  Tree load(const std::string& name, const std::string& from, const Place& place) {
    const std::string path = path_of(name, kind_, from, place);
    if (!visited_.insert(canonical(path)).second) {
      throw input_error(place, fmt::format("the keys 'base' form a circle: {} is its own base", excerpt(path)),
                        "Remove one of the 'base' keys.");
    }
    Tree tree = read_once(path);
    MapReader(tree, "").choice("schema", {schema_of(kind_)});
    return merge(std::move(tree), fs::path(path).parent_path().string());
  }

  Tree merge(Tree tree, const std::string& folder) {
    note_key(tree, "base", text_leaf(kNotEmpty).form);
    localise_files(tree, folder);
    take_tables(tree, folder);
    const auto base = std::ranges::find(tree.fields, "base", &std::pair<std::string, Tree>::first);
    if (base == tree.fields.end()) return tree;
    const Tree named = base->second;
    tree.fields.erase(base);
    if (named.kind != Tree::Kind::scalar) {
      throw input_error(named.place, fmt::format("'base' must be a file name, but is {}", kind_name(named.kind)),
                        "Write a shipped name or a path.");
    }
    if (++bases_ > kMostBases) {
      throw input_error(named.place, fmt::format("more than {} bases in a row", kMostBases), "Shorten the chain.");
    }
    const Tree under = load(named.scalar, folder, named.place);
    Tree result = merged(under, tree);
    if (kind_ == "clusters" && changes_rate_alone(tree)) keep_nic_hardware(nic_rate(under), result);
    result.place = tree.place;
    return result;
  }

 private:
  // Puts the tables that `tables_from` takes of another workload in its place.
  void take_tables(Tree& tree, const std::string& folder) {
    if (kind_ == "workloads") note_key(tree, "tables_from", Form{Form::Kind::map});
    const auto from = std::ranges::find(tree.fields, "tables_from", &std::pair<std::string, Tree>::first);
    if (kind_ != "workloads" || from == tree.fields.end()) return;
    if (tree.find("tables") != nullptr)
      throw input_error(from->second.place, "'tables_from' and 'tables' cannot be used together", "Keep one of them");
    from->second = picked_tables(from->second, [&](const Tree& name) -> const Tree& {
      return source_of_tables(text_leaf(kNotEmpty)(name), folder, name.place);
    });
    from->first = "tables";
  }

  const Tree& read_once(const std::string& path) {
    const auto known = loaded_.files.find(path);
    return known != loaded_.files.end() ? known->second
                                        : loaded_.files.emplace(path, read_yaml_file(path)).first->second;
  }

  const Tree& source_of_tables(const std::string& name, const std::string& folder, const Place& place) {
    const std::string path = canonical(path_of(name, kind_, folder, place));
    const auto known = loaded_.workloads.find(path);
    if (known != loaded_.workloads.end()) return known->second;
    if (depth_ >= kMostBases)
      throw input_error(place, fmt::format("'tables_from' leads through more than {} workloads", kMostBases),
                        "Name the workload that lists the tables");
    return loaded_.workloads.emplace(path, BaseChain(kind_, loaded_, depth_ + 1).load(name, folder, place))
        .first->second;
  }

  std::string kind_;
  LoadedTrees& loaded_;
  int depth_ = 0;
  std::set<std::string> visited_;
  int bases_ = 0;
};

// Keys written inline need not repeat what the key that holds them says already.
void add_schema(Tree& tree, const std::string& kind) {
  if (tree.find("schema") != nullptr) return;
  tree.fields.insert(tree.fields.begin(), {"schema", text_tree(schema_of(kind), tree.place)});
}

// The files that a planner's options name, {costs: {file: FILE}} too; of a list, those of each planner.
void locate_planner_files(Tree& options, const std::string& folder) {
  for (Tree& item : options.items) locate_planner_files(item, folder);
  for (auto& [key, value] : options.fields) {
    if (names_planner_file(key)) value = located_file(std::move(value), folder);
    locate_planner_files(value, folder);
  }
}

void check_job_list(const Tree& jobs) {
  note_form(jobs, {Form::Kind::list, {}, Bounds::from(1).to(kMostJobs)});
  const bool list = jobs.kind == Tree::Kind::list;
  if (!list || jobs.items.empty()) {
    throw input_error(jobs.place, fmt::format("'jobs' is {}", list ? "empty" : "no list"),
                      "Write one map per job, each with a dash in front: {name, workload, planner, nodes, start}");
  }
  if (jobs.items.size() > kMostJobs) {
    throw input_error(jobs.place, fmt::format("more than {} jobs", kMostJobs), "Split the scenario");
  }
  for (const Tree& job : jobs.items) {
    if (job.kind == Tree::Kind::map) continue;
    throw input_error(job.place, fmt::format("a job must be a map, but is {}", kind_name(job.kind)),
                      "Write {name: ..., workload: ..., planner: ..., nodes: ...}");
  }
}

Tree located_jobs(Tree jobs, const std::string& folder, LoadedTrees& loaded) {
  check_job_list(jobs);
  std::size_t values = 0;
  for (Tree& job : jobs.items) {
    for (auto& [key, value] : job.fields) value = located(key, std::move(value), folder, loaded);
    values += size_of(job);
    if (values <= kMostValues) continue;
    throw input_error(job.place, fmt::format("the jobs hold more than {} values together", kMostValues),
                      "Split the scenario, or use smaller workloads");
  }
  return jobs;
}

}  // namespace

std::string path_from(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / fs::path(file)).string();
}

std::string named_from(const std::string& name, const std::string& folder) {
  if (name.find('.') == std::string::npos && name.find('/') == std::string::npos) return name;
  return std::filesystem::proximate(name, folder.empty() ? "." : folder).string();
}

Tree load_named(const std::string& name, const std::string& kind, const std::string& from, const Place& place) {
  LoadedTrees loaded;
  return BaseChain(kind, loaded).load(name, from, place);
}

Tree whole_tree(const Tree& stated, const std::string& kind, const std::string& from) {
  LoadedTrees loaded;
  return whole_tree(stated, kind, from, loaded);
}

Tree whole_tree(const Tree& stated, const std::string& kind, const std::string& from, LoadedTrees& loaded) {
  note_part(stated, singular(kind));
  note_form(stated, text_leaf(kNotEmpty).form);
  note_form(stated, stated_map(1));
  if (stated.kind == Tree::Kind::scalar) return BaseChain(kind, loaded).load(stated.scalar, from, stated.place);
  if (stated.kind != Tree::Kind::map) {
    throw input_error(stated.place,
                      fmt::format("the {} must be a name or a map, but is {}", singular(kind), kind_name(stated.kind)),
                      "Write a shipped name, a path, or a map of its keys.");
  }
  Tree tree = BaseChain(kind, loaded).merge(stated, from);
  add_schema(tree, kind);
  return tree;
}

void set_in_named(Tree& tree, const std::string& path, const Tree& value, const std::string& instead) {
  if (path.substr(0, path.find('.')) == "base")
    throw input_error(value.place, fmt::format("path {}: 'base' cannot be set alone", excerpt(path)), instead);
  const std::optional<Tree> rate = is_nic_rate(path) ? nic_rate(tree) : std::nullopt;
  set_path(tree, path, value);
  keep_nic_hardware(rate, tree);
}

bool is_nic_rate(std::string_view path) {
  return path == "nics.rate" || path == "nics.rate.value";
}

std::optional<Tree> nic_rate(const Tree& cluster) {
  const Tree* const nics = cluster.find("nics");
  const Tree* const rate = nics == nullptr ? nullptr : nics->find("rate");
  if (rate == nullptr) return std::nullopt;
  return is_sourced_value(*rate) ? *rate->find("value") : *rate;
}

void keep_nic_hardware(const std::optional<Tree>& before, Tree& cluster) {
  Tree* const nics = cluster.find("nics");
  if (!before || nics == nullptr || nics->find("hardware_rate") != nullptr) return;
  const std::optional<Tree> now = nic_rate(cluster);
  if (now && !(*now == *before)) nics->fields.emplace_back("hardware_rate", *before);
}

std::vector<std::string> shipped(const std::string& kind) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(data_folder() / "scenarios" / kind, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::size_t size_of(const Tree& tree) {
  std::size_t size = 1;
  for (const Tree& item : tree.items) size += size_of(item);
  for (const auto& [key, value] : tree.fields) size += size_of(value);
  return size;
}

bool names_planner_file(std::string_view key) {
  static constexpr std::string_view kFileKeys[] = {"file", "model", "policy", "start"};
  return std::ranges::find(kFileKeys, key) != std::end(kFileKeys);
}

bool is_named(std::string_view key) {
  return key == "cluster" || key == "workload";
}

// Where the costs of a compute model are a file.
bool names_costs(const Tree& costs) {
  return costs.kind == Tree::Kind::scalar && costs.scalar != "auto";
}

Tree located(const std::string& key, Tree value, const std::string& folder, LoadedTrees& loaded) {
  if (is_named(key)) return whole_tree(value, key + "s", folder, loaded);
  if (key == "software") return named_map(value, shipped_software().names());
  if (key == "jobs") return located_jobs(std::move(value), folder, loaded);
  if (key == "planner" || key == "planners") {
    locate_planner_files(value, folder);
  } else if (Tree* const file = value.kind == Tree::Kind::map ? value.find("file") : nullptr) {
    *file = located_file(*file, folder);
  }
  Tree* const costs = key == "compute_model" && value.kind == Tree::Kind::map ? value.find("costs") : nullptr;
  if (costs != nullptr && names_costs(*costs)) *costs = located_file(std::move(*costs), folder);
  return value;
}

Tree located_drift(Tree drift, const std::string& file) {
  for (Tree& item : drift.items) item = located_drift(std::move(item), file);
  for (auto& [key, value] : drift.fields) {
    const bool named = names_planner_file(key) && value.place.source == file;
    value = named ? located_file(std::move(value), std::filesystem::path(file).parent_path().string()) : value;
    value = located_drift(std::move(value), file);
  }
  return drift;
}

Tree located_leaf(std::string_view path, Tree value, const std::string& folder) {
  const std::string_view last = path.substr(path.rfind('.') + 1);
  const bool file = path.ends_with(".file") || path.ends_with("dense.trace") ||
                    (path == "compute_model.costs" && names_costs(value)) ||
                    (path.starts_with("planner") && names_planner_file(last));
  return file ? located_file(std::move(value), folder) : value;
}

}  // namespace shardsim
