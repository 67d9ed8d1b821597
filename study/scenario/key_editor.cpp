#include "study/scenario/key_editor.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "study/scenario/case_trees.h"

namespace shardsim {

KeyEditor::KeyEditor(Tree& keys, std::vector<std::string> known)
    : keys_(keys), known_(std::move(known)), leaves_(keys) {}

void KeyEditor::refuse_wrong_head(const std::string& path, const std::string& head, const Tree& value) const {
  if (std::ranges::find(known_, head) == known_.end()) {
    throw input_error(value.place, fmt::format("path {}: {} is no key of a case", excerpt(path), excerpt(head)),
                      known_names_hint(head, known_));
  }
  if (keys_.find("jobs") == nullptr) return;
  if (head == "workload" || head == "planner" || head == "plan") {
    throw input_error(value.place, fmt::format("path {}: the case has jobs", excerpt(path)),
                      fmt::format("Write jobs.NUMBER.{}", path));
  }
  if (head == "planners") {
    throw input_error(value.place, "'planners', but the case has jobs",
                      "Choose cases with a single workload by --case");
  }
}

void KeyEditor::assign(const std::string& key, const Tree& value, const TreeOrigin& from) {
  assign_key(keys_, key, located(key, value, from.folder, from.loaded));
  leaves_ = TreeEditor(keys_);
  jobs_.clear();
}

// `path` begins with the number of a job.
void KeyEditor::edit_job(Tree& jobs, const std::string& path, const Tree& value, const TreeOrigin& from) {
  const auto in_job = case_path(path);
  if (!in_job || in_job->first >= jobs.items.size()) {
    throw input_error(value.place, fmt::format("path {} does not name a key of a job", excerpt("jobs." + path)),
                      fmt::format("Write jobs.NUMBER.KEY; jobs are numbered 0 to {}", jobs.items.size() - 1));
  }
  std::unique_ptr<KeyEditor>& editor = jobs_[in_job->first];
  if (!editor) editor = std::make_unique<KeyEditor>(jobs.items[in_job->first], job_keys());
  editor->edit(in_job->second, value, from);
}

void KeyEditor::edit(const std::string& path, const Tree& value, const TreeOrigin& from) {
  const auto [head, rest] = split_head(path);
  refuse_wrong_head(path, head, value);
  if (path.size() == head.size()) return assign(head, value, from);
  const bool may_be_absent = head == "collectives" || head == "compute_model";
  if (keys_.find(head) == nullptr && !may_be_absent) {
    throw input_error(value.place, fmt::format("path {}: the case has no '{}' to change", excerpt(path), head),
                      fmt::format("Write the key in the case, or set '{}' as a whole", head));
  }
  if (head == "jobs") return edit_job(*keys_.find("jobs"), rest, value, from);
  if (is_named(head) && split_head(rest).first == "base") {
    throw input_error(value.place, fmt::format("path {}: 'base' cannot be set alone", excerpt(path)),
                      fmt::format("Set the whole '{}', for example to {{base: NAME}}", head));
  }
  Tree* const cluster = head == "cluster" && is_nic_rate(rest) ? keys_.find(head) : nullptr;
  const std::optional<Tree> rate = cluster == nullptr ? std::nullopt : nic_rate(*cluster);
  leaves_.set(path, located_leaf(path, value, from.folder));
  if (cluster != nullptr) keep_nic_hardware(rate, *cluster);
}

}  // namespace shardsim
