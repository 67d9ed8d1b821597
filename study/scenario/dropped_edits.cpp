#include "study/scenario/dropped_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/included_files.h"

namespace shardsim {
namespace {

// Keys whose value is more than a name: what is said beside the name goes when it is replaced.
constexpr std::string_view kReplaceable[] = {"cluster", "workload",      "software",     "planner",
                                             "network", "compute_model", "memory_model", "load"};

// A value without values inside, or a list of such.
struct Leaf {
  std::string path;
  const Tree* value = nullptr;
};

void add_leaves(const Tree& tree, const std::string& path, std::vector<Leaf>& leaves) {
  const std::string below = path.empty() ? "" : path + ".";
  const bool of_maps = !tree.items.empty() && tree.items.front().kind == Tree::Kind::map;
  for (const auto& [key, value] : tree.fields) add_leaves(value, below + key, leaves);
  for (std::size_t i = 0; of_maps && i < tree.items.size(); ++i)
    add_leaves(tree.items[i], fmt::format("{}{}", below, i), leaves);
  if (tree.fields.empty() && !of_maps) leaves.push_back({path, &tree});
}

std::vector<Leaf> leaves_of(const Tree& tree) {
  std::vector<Leaf> leaves;
  add_leaves(tree, "", leaves);
  std::erase_if(leaves, [](const Leaf& leaf) { return leaf.path == "schema" || leaf.path == "name"; });
  return leaves;
}

bool is_argument(const Leaf& leaf) {
  return leaf.value->place.source.starts_with("argument ");
}

std::string leaf_text(const Leaf& leaf) {
  return leaf.value->kind == Tree::Kind::scalar ? fmt::format("{} {}", leaf.path, leaf.value->scalar) : leaf.path;
}

constexpr std::size_t kMostListed = 6;

// The key that a setting replaces as a whole; "" where it changes something else.
std::string replaced_key(const std::string& path) {
  auto [head, rest] = split_head(path);
  if (head == "cases") {
    const auto in_case = case_path(rest);
    if (!in_case) return "";
    std::tie(head, rest) = split_head(in_case->second);
  }
  return rest.empty() && std::ranges::find(kReplaceable, head) != std::end(kReplaceable) ? head : "";
}

class DroppedEdits {
 public:
  DroppedEdits(const std::string& path, const Overrides& overrides) : path_(path), overrides_(overrides) {}

  std::vector<std::string> sentences() {
    std::vector<std::string> all;
    for (std::size_t setting = 0; setting < overrides_.set.size(); ++setting) {
      const std::string key = replaced_key(overrides_.set[setting].first);
      if (!key.empty()) add(setting, key, all);
    }
    return all;
  }

 private:
  // The cases as the first `count` settings leave them.
  std::vector<CaseTree> after(std::size_t count) {
    Overrides some = overrides_;
    some.set.resize(count);
    some.planners.clear();
    const Tree tree = parse_yaml(read_file(path_), path_);
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    std::vector<CaseTree> cases = included_case_trees(tree, path_, some, 1);
    for (CaseTree& each : case_trees(tree, folder, some, 1).cases) cases.push_back(std::move(each));
    return cases;
  }

  void add(std::size_t setting, const std::string& key, std::vector<std::string>& all) {
    const std::vector<CaseTree> before = after(setting), now = after(setting + 1);
    std::map<std::string, std::vector<std::string>> cases;  // by what they lose
    std::string example;
    for (const CaseTree& old : before) {
      const auto same = std::ranges::find(now, old.name, &CaseTree::name);
      if (same == now.end() || old.again || same->again) continue;
      const Tree *const was = old.keys.find(key), *const is = same->keys.find(key);
      if (was == nullptr || is == nullptr || *was == *is) continue;
      std::vector<std::string> lost = said_of(key, *was, *is, old.place.source);
      std::erase_if(lost, [&](const std::string& path) { return is_said_later(setting, path); });
      if (lost.empty()) continue;
      if (example.empty()) example = lost.front();
      cases[told(*was, lost)].push_back(old.name);
    }
    const std::string& path = overrides_.set[setting].first;
    for (const auto& [what, names] : cases) {
      all.push_back(fmt::format(
          "--set {} replaces the whole {} of {}; dropped with it: {}. Say again behind it what is to stay, for example "
          "--set {}.{}=VALUE",
          path, key, first_names(names, kMostListed), what, path, example));
    }
  }

  static std::vector<std::string> said_of(const std::string& key, const Tree& was, const Tree& is,
                                          const std::string& file) {
    if (is_named(key)) return lost_edits(was, is, {file});
    const Tree *const old_name = was.find("name"), *const new_name = is.find("name");
    const bool same = old_name != nullptr && new_name != nullptr && *old_name == *new_name;
    if (!same && key != "software" && key != "load") return {};  // another model has other parameters
    std::vector<std::string> lost;
    const std::vector<Leaf> kept = leaves_of(is);
    for (const Leaf& leaf : leaves_of(was))
      if (std::ranges::find(kept, leaf.path, &Leaf::path) == kept.end()) lost.push_back(leaf.path);
    return lost;
  }

  bool is_said_later(std::size_t setting, const std::string& path) const {
    const std::string whole = overrides_.set[setting].first + "." + path;
    return std::any_of(overrides_.set.begin() + static_cast<std::ptrdiff_t>(setting) + 1, overrides_.set.end(),
                       [&](const auto& later) { return later.first == whole || whole.starts_with(later.first + "."); });
  }

  static std::string told(const Tree& was, const std::vector<std::string>& lost) {
    std::vector<std::string> texts;
    for (const Leaf& leaf : leaves_of(was))
      if (std::ranges::find(lost, leaf.path) != lost.end()) texts.push_back(leaf_text(leaf));
    return first_names(texts, kMostListed);
  }

  const std::string& path_;
  const Overrides& overrides_;
};

}  // namespace

std::vector<std::string> lost_edits(const Tree& before, const Tree& after, const std::vector<std::string>& said_in) {
  const std::vector<Leaf> old = leaves_of(before), now = leaves_of(after);
  const auto is_said = [&](const Leaf& leaf) {
    return is_argument(leaf) || std::ranges::find(said_in, leaf.value->place.source) != said_in.end();
  };
  const bool based = !std::ranges::all_of(old, is_said);
  std::vector<std::string> lost;
  for (const Leaf& leaf : old) {
    if (based ? !is_said(leaf) : !is_argument(leaf)) continue;
    const auto same = std::ranges::find(now, leaf.path, &Leaf::path);
    if (same != now.end() && (*same->value == *leaf.value || is_said(*same))) continue;
    lost.push_back(leaf.path);
  }
  return lost;
}

std::vector<std::string> dropped_edits(const std::string& path, const Overrides& overrides) {
  return DroppedEdits(path, overrides).sentences();
}

}  // namespace shardsim
