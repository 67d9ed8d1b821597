#include <doctest/doctest.h>

#include "study/scenario/read_case.h"
#include "tests/study/scenario_text.h"

namespace shardsim::software_case_test {

using test::read;
using test::scenario_error;

namespace {

std::string scenario(const std::string& more, const std::string& workload = "dlrm_criteo_1tb") {
  return "schema: shardsim.scenario/1\ncluster: dgx_h100\nworkload: " + workload + "\nplanner: {name: row_wise}\n" +
         more + "\n";
}

Case only_case(const std::string& more, const Overrides& overrides = {}) {
  return read(scenario(more), overrides).cases.front();
}

}  // namespace

TEST_CASE("software: a name, a map, or the command line; none by default") {
  CHECK(!only_case("").software);
  CHECK(only_case("software: ideal").software->name == "ideal");
  CHECK(only_case("software: {name: ideal, launch: 3 us}").software->launch.us() == doctest::Approx(3));
  CHECK(only_case("", test::set("software", "tensorflow")).software->name == "tensorflow");
  CHECK(only_case("software: hugectr_ebc", test::set("software.launch", "2 us")).software->launch.us() ==
        doctest::Approx(2));
  const Scenario two = read(scenario("software: ideal\ncases: [{name: a}, {name: b, software: hugectr_ebc}]"));
  CHECK(two.cases[0].software->name == "ideal");
  CHECK(two.cases[1].software->name == "hugectr_ebc");
}

TEST_CASE("software: kernels of the compute model and shared streams follow it") {
  const Case item = only_case("software: hugectr_ebc\ncompute_model: {name: gpu_kernels}");
  CHECK(std::stod(item.compute_model.find("in_situ")->scalar) == doctest::Approx(item.software->in_situ));
  CHECK(item.software->in_situ < 1);
  CHECK(item.compute_model.find("kernel_fixed") != nullptr);
  CHECK(item.cluster.gpu.stream_sharing == 0.5);
  CHECK(only_case("").cluster.gpu.stream_sharing == 0);
  CHECK(only_case("software: hugectr_ebc", test::set("cluster.gpu.stream_sharing", "0.1")).cluster.gpu.stream_sharing ==
        0.1);
  CHECK(only_case("software: hugectr_ebc\ncompute_model: {name: roofline}").compute_model.find("in_situ") == nullptr);
  const auto kernels = [](const std::string& keys) { return only_case(keys).compute_model.find("kernels")->scalar; };
  CHECK(kernels("compute_model: {name: gpu_kernels}") == "fbgemm");
  CHECK(kernels("software: torchrec_eager\ncompute_model: {name: gpu_kernels}") == "fbgemm");
  CHECK(kernels("software: hugectr_ebc\ncompute_model: {name: gpu_kernels}") == "hugectr");
  CHECK(kernels("software: {name: hugectr_ebc, kernels: fbgemm}\ncompute_model: {name: gpu_kernels}") == "fbgemm");
  CHECK(kernels("software: hugectr_ebc\ncompute_model: {name: gpu_kernels, kernels: executor}") == "executor");
  CHECK_NOTHROW(validate_names(item));
}

TEST_CASE("software: what is refused") {
  CHECK(says(scenario_error(scenario("software: torchrec")), "hugectr_graph"));
  CHECK(says(scenario_error(scenario("software: [ideal]")), "must be a name or a map, but is a list"));
  CHECK(says(scenario_error(scenario("software: ideal\ncompute_model: {name: gpu_kernels, in_situ: 0.8}")),
             "software.in_situ"));
  CHECK(says(scenario_error(scenario("software: ideal", "rm1")), "measured"));
}

}  // namespace shardsim::software_case_test
