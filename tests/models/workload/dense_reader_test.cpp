#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/models/workload_text.h"

namespace shardsim {

TEST_CASE("dense parameters are weights and biases in fp32, unless stated") {
  // 13-64-32: 13 * 64 + 64 + 64 * 32 + 32 = 2,976 parameters.
  const std::string layers = "layers: [{name: a, in: 13, out: 64}, {name: b, in: 64, out: 32, per: item}]";
  const DensePart dense = parsed(one_table(kSequence, "dense: {" + layers + "}")).dense;
  CHECK(dense.parameters.count == 11'904);
  CHECK(dense.layers == std::vector<DenseLayer>{{"a", 13, 64, 1, false}, {"b", 64, 32, 1, true}});
  CHECK(parsed(one_table(kSequence, "dense: {parameters_bytes: 1 KiB, " + layers + "}")).dense.parameters.count ==
        1024);
}

TEST_CASE("a cross network has layers and a rank") {
  const DensePart dense = parsed(one_table(kSequence, "dense: {interaction: {kind: dcn, layers: 3, rank: 512}}")).dense;
  CHECK(dense.interaction == "dcn");
  CHECK(dense.interaction_layers == 3);
  CHECK(dense.interaction_rank == 512);
}

TEST_CASE("the parts of a measured rest must be five and add up") {
  const auto dense = [](const char* update, const char* last) {
    return fmt::format(
        "dense: {{measured: {{rest: 10 ms, split: {{id_exchange: {{time: 1 ms, reason: r}}, lookup: {{time: 2 ms, "
        "reason: "
        "r}}, dense_forward: {{time: 3 ms, reason: r}}, dense_backward: {{time: 3 ms, reason: r}}{}{}}}}}}}",
        update, last);
  };
  CHECK(parsed(one_table(kSequence, dense(", update: {time: 1 ms, reason: r}", ""))).dense.measured->rest.ms() == 10);
  CHECK_NOTHROW(parsed(one_table(kSequence, dense(", update: {time: 1.000001 ms, reason: r}", ""))));
  check_refused(one_table(kSequence, dense(", update: {time: 1.00001 ms, reason: r}", "")), "w.yaml:5:", "add up");
  check_refused(one_table(kSequence, dense("", "")), "w.yaml:5:", "update");
  check_refused(one_table(kSequence, dense(", update: {time: 1 ms}", "")), "w.yaml:5:", "reason");
  check_refused(one_table(kSequence, dense(", update: {time: 1 ms, reason: r}", ", sleep: {time: 0 s, reason: r}")),
                "w.yaml:5:", "sleep");
}

}  // namespace shardsim
