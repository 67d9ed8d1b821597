#include "base/tree/long_time.h"

#include <fmt/format.h>

#include "base/text.h"

namespace shardsim {

LeafReader<Seconds> long_time_leaf() {
  LeafReader<Seconds> leaf = time_leaf();
  leaf.expected = "a time, for example \"600 s\"";
  leaf.parse = [parse = leaf.parse](std::string_view text, const Place& place) {
    const bool is_bare = !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (!is_bare) return parse(text, place);
    throw input_error(place, fmt::format("{} has no unit", excerpt(text)),
                      fmt::format("Write for example \"{} s\"", text.substr(0, 40)));
  };
  return leaf;
}

}  // namespace shardsim
