#include "base/tree/asked.h"

#include <algorithm>

namespace shardsim {
namespace {

void add_form(std::vector<Form>& forms, const Form& form) {
  if (std::ranges::find(forms, form) == forms.end()) forms.push_back(form);
}

}  // namespace

void record_what_is_asked(Tree& tree) {
  tree.asked = std::make_shared<Asked>();
  for (Tree& item : tree.items) record_what_is_asked(item);
  for (auto& [key, value] : tree.fields) record_what_is_asked(value);
}

void note_form(const Tree& tree, const Form& form) {
  if (tree.asked) add_form(tree.asked->forms, form);
}

void note_key(const Tree& map, std::string_view key, const std::optional<Form>& form, Need need) {
  if (!map.asked) return;
  std::vector<Asked::Key>& keys = map.asked->keys;
  auto known = std::ranges::find(keys, key, &Asked::Key::name);
  if (known == keys.end()) known = keys.insert(known, {std::string(key), false, false, {}});
  known->required = known->required || need == Need::required || need == Need::required_plain;
  known->sourced = known->sourced || need == Need::sourced || need == Need::required;
  if (form) add_form(known->forms, *form);
}

void note_part(const Tree& tree, const std::string& part, const std::vector<std::string>& names,
               const std::string& name_key) {
  if (!tree.asked) return;
  tree.asked->part = part;
  tree.asked->names = names;
  tree.asked->name_key = name_key;
}

void note_closed(const Tree& map, const std::vector<std::string>& known) {
  if (!map.asked) return;
  Asked& asked = *map.asked;
  const auto is_unknown = [&](const std::string& key) { return std::ranges::find(known, key) == known.end(); };
  if (asked.finished) {
    std::erase_if(asked.allowed, is_unknown);
  } else {
    asked.allowed = known;
  }
  asked.by_name = asked.finished = true;
}

}  // namespace shardsim
