#include "models/workload/model_name.h"

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr TextRule kModelNameRule{"", Bounds::from(1).to(256), "is not a name",
                                  "Write 1 to 256 bytes, without line ends and other control characters",
                                  "(?![\\s\\S]*[\\u0000-\\u001f\\u007f])"};

}  // namespace

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

LeafReader<std::string> model_name_leaf() {
  LeafReader<std::string> leaf = text_leaf(kModelNameRule);
  leaf.parse = [any_text = leaf.parse](std::string_view text, const Place& place) {
    if (!has_control_characters(text)) return any_text(text, place);
    throw input_error(place, excerpt(text) + " " + kModelNameRule.fault, kModelNameRule.advice);
  };
  return leaf;
}

}  // namespace shardsim
