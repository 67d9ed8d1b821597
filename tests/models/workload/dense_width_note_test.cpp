#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/workload/workload_notes.h"
#include "tests/base/error_text.h"
#include "tests/models/workload_text.h"

namespace shardsim::dense_widths_test {
namespace {

// Three features and the bottom's output are 4 vectors of 8: 32 columns, 6 products.
std::string note(int in, const std::string& interaction, const std::string& more = "") {
  return dense_width_note(parsed(
      one_table("name: t, rows: 100, dim: 8, " + (more.empty() ? "kind: pooled" : more) + ", features: [a, b, c]",
                fmt::format("dense: {{layers: [{{name: bottom_0, in: 13, out: 8}}, "
                            "{{name: top_0, in: {}, out: 1}}], interaction: {}}}",
                            in, interaction))));
}

}  // namespace

TEST_CASE("the first layer above reads what the interaction gives, padded or without the bottom's output") {
  for (const int in : {14, 16, 6, 8, 10, 18}) CHECK(note(in, "{kind: dot}") == "");
  CHECK(has(note(32, "{kind: dot}"),
            "Layer 'top_0' reads 32 columns, but the interaction dot of 4 vectors gives 14 (6 products and the 8 "
            "columns of the bottom layers). Check its 'in'"));
  CHECK(note(32, "{kind: dcn, layers: 1, rank: 2}") == "");
  CHECK(has(note(14, "{kind: dcn, layers: 1, rank: 2}"), "the interaction dcn of 4 vectors gives 32."));
}

TEST_CASE("where none is stated, any usual interaction will do") {
  for (const int in : {32, 24, 14, 6}) CHECK(note(in, "{kind: none}") == "");
  CHECK(has(note(100, "{kind: none}"),
            "side by side the 4 vectors below it have 32, and an interaction dot of them gives 14 (6 products"));
  // The use of a history's items is not known.
  CHECK(note(100, "{kind: none}", "kind: sequence, average_length: 20") == "");
}

}  // namespace shardsim::dense_widths_test
