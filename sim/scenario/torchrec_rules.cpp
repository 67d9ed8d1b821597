#include "sim/scenario/torchrec_rules.h"

#include <fmt/format.h>

#include "base/error.h"

namespace shardsim {
namespace {

constexpr const char* kRules[] = {"variant", "rules", "run_embedding_at_peak_memory"};

bool is_torchrec(const Tree& options) {
  const Tree* name = options.kind == Tree::Kind::map ? options.find("name") : nullptr;
  return name != nullptr && name->scalar == "torchrec";
}

}  // namespace

void share_torchrec_rules(Tree& planner, Tree& memory_model) {
  if (!is_torchrec(planner) || !is_torchrec(memory_model)) return;
  for (const char* key : kRules) {
    const Tree* made = planner.find(key);
    const Tree* judged = memory_model.find(key);
    if (made && judged && !(*made == *judged)) {
      throw input_error(judged->place, fmt::format("memory_model.{} and planner.{} differ", key, key),
                        "Say it in one place: it holds for both");
    }
    if (made && !judged) {
      memory_model.fields.emplace_back(key, *made);
    } else if (judged && !made) {
      planner.fields.emplace_back(key, *judged);
    }
  }
}

}  // namespace shardsim
