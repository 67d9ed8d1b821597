#include "validate/execute/devices/machine_facts.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shardsim::machine_facts_test {

TEST_CASE("facts go through a text and back") {
  const Facts facts{{"ECC", "Enabled"}, {"NCCL_ALGO", "Ring,Tree"}, {"power, W", "71.5"}};
  CHECK(facts_text(facts) == "ECC: Enabled; NCCL_ALGO: Ring,Tree; power, W: 71.5");
  CHECK(facts_of_text(facts_text(facts)) == facts);
  CHECK(facts_of_text(facts_text({{"a", "x; y\nz"}})) == Facts{{"a", "x, y z"}});
  CHECK(facts_text({{"a", ""}}).empty());
  CHECK(facts_of_text("").empty());
}

TEST_CASE("what ranks say alike is said once, numbers as a range, other things with their ranks") {
  CHECK(merged_facts({"ECC: on; power, W: 99", "ECC: on; power, W: 100.5", "", "ECC: on; power, W: 98"}) ==
        "ECC: on; power, W: 98 to 100.5");
  CHECK(merged_facts({"throttled: none", "throttled: power", "throttled: none"}) ==
        "throttled: none (ranks 0 and 2), power (rank 1)");
}

TEST_CASE("NCCL's variables are among what is known of a host") {
  setenv("NCCL_ALGO", "Ring", 1);
  const Facts facts = host_facts();
  unsetenv("NCCL_ALGO");
  CHECK(facts.at("NCCL_ALGO") == "Ring");
  CHECK(facts.at("processors allowed").find(" of ") != std::string::npos);
  CHECK_FALSE(host_facts().contains("NCCL_ALGO"));
}

TEST_CASE("the state of a GPU is what nvidia-smi says, and nothing where it does not answer") {
  std::string folder = (std::filesystem::temp_directory_path() / "facts_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string path = std::getenv("PATH");
  const auto script = std::filesystem::path(folder) / "nvidia-smi";
  std::ofstream(script)
      << "#!/bin/sh\n[ \"$2\" = 0000:1B:00.0 ] && echo '1980, 2619, 312.50, 700.00, 41, 0x0, Enabled, "
         "Enabled'\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  setenv("PATH", (folder + ":" + path).c_str(), 1);
  const Facts facts = gpu_state("0000:1B:00.0"), other = gpu_state("0000:1C:00.0");
  setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
  CHECK(facts.at("SM clock, MHz") == "1980");
  CHECK(facts.at("power, W") == "312.50");
  CHECK(facts.at("ECC") == "Enabled");
  CHECK_FALSE(other.contains("ECC"));
  CHECK(gpu_state("0; rm -rf").empty());
}

}  // namespace shardsim::machine_facts_test
