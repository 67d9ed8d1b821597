#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/tree/tree_editor.h"
#include "study/scenario/named_tree.h"

namespace shardsim {

// Edits of the keys of one case or job, one after the other. `keys` outlives it and is changed by nobody else
// meanwhile.
class KeyEditor {
 public:
  // `known`: the keys that a case, or a job, may have.
  KeyEditor(Tree& keys, std::vector<std::string> known);

  // Edits one leaf, or replaces one whole key. Files in `value` are looked for where `from` says.
  // Errors (Failure::input, at the place of `value`): a path that leads nowhere; what belongs to jobs, or to a single
  // workload, in a case of the other kind.
  void edit(const std::string& path, const Tree& value, const TreeOrigin& from);

 private:
  void refuse_wrong_head(const std::string& path, const std::string& head, const Tree& value) const;
  void assign(const std::string& key, const Tree& value, const TreeOrigin& from);
  void edit_job(Tree& jobs, const std::string& path, const Tree& value, const TreeOrigin& from);

  Tree& keys_;
  std::vector<std::string> known_;
  TreeEditor leaves_;
  std::map<std::size_t, std::unique_ptr<KeyEditor>> jobs_;  // of the jobs that were edited, by their number
};

}  // namespace shardsim
