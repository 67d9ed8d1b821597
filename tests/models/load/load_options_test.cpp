#include "models/load/load_options.h"

#include <doctest/doctest.h>

#include <string>

#include "base/tree/yaml.h"

namespace shardsim::load_options_test {

namespace {

LoadOptions options(const std::string& yaml, const LoadOptions& before = {}) {
  const Tree tree = parse_yaml(yaml, "s.yaml");
  return read_load_options(MapReader(tree, "load"), before);
}

void refused(const std::string& yaml, const char* fragment) {
  CHECK_THROWS_WITH_AS(options(yaml), doctest::Contains(fragment), Error);
  CHECK_THROWS_WITH_AS(options(yaml), doctest::Contains("s.yaml:1:"), Error);
}

}  // namespace

TEST_CASE("what a load leaves out keeps its value") {
  CHECK(options("{}") == LoadOptions{});
  const LoadOptions drawn = options("{batches: drawn, iterations: 7, seed: 0, row_cut: modulo}");
  CHECK(drawn.batches == LoadOptions::Batches::drawn);
  CHECK(drawn.iterations == 7);
  CHECK(drawn.seed == 0);
  const LoadOptions even = options("{row_shares: even, iterations: 9}", drawn);
  CHECK(even.row_shares == LoadOptions::RowShares::even);
  CHECK(even.row_cut == RowCut::modulo);
  CHECK(even.iterations == 9);
  CHECK_FALSE(drawn.placement);
  CHECK(options("{placement: 0}").placement == 0);
  CHECK(options("{}", options("{placement: 3}")).placement == 3);
  CHECK_FALSE(drawn.draw);
  CHECK(options("{draw: 32}").draw == 32);
}

TEST_CASE("loads that cannot be are refused with place") {
  refused("{batches: drawn, iterations: 0}", "load.iterations");
  refused("{batches: drawn, iterations: 1}", "load.iterations: \"1\" is below 2");
  refused("{batches: drawn, iterations: 1000000}", "from 2 to 10000");
  refused("{batches: drawn, seed: -1}", "seed");
  refused("{iterations: 40}", "'iterations' has no effect");
  refused("{seed: 4}", "'seed' has no effect");
  refused("{placement: -1}", "placement");
  refused("{placement: 1, row_shares: even}", "'placement' has no effect");
  refused("{draw: 0}", "draw");
  refused("{draw: 33}", "from 1 to 32");
  refused("{draw: 1, row_shares: even}", "'draw' has no effect");
  refused("{draw: 1, placement: 1}", "'draw' has no effect");
  refused("{row_cut: hashed}", "row_cut");
  refused("{row_shares: uneven}", "row_shares");
  refused("{lengths: drawn}", "unknown key");
}

}  // namespace shardsim::load_options_test
