#include "validate/execute/meet/join.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "validate/execute/meet/layout.h"
#include "validate/execute/meet/secret.h"

namespace shardsim {

std::vector<int> ports_of(const Launch& launch) {
  std::vector<int> ports{launch.master_port};
  ports.insert(ports.end(), launch.other_ports.begin(), launch.other_ports.end());
  return ports;
}

void check_secret(const Launch& launch, const std::string& address) {
  if (!launch.secret.empty() || Address{address, 0}.loopback()) return;
  throw input_error({fmt::format("environment variable {}", kSecretVariable)},
                    fmt::format("not set, although rank 0 listens at {} ({}), which other machines reach",
                                launch.master_host, address),
                    kSecretRemedy);
}

Error unknown_host(const Launch& launch, const std::string& why) {
  const char* const variable = launch.launcher == "Slurm" ? "MASTER_ADDR or SLURM_STEP_NODELIST" : "MASTER_ADDR";
  return input_error({fmt::format("environment variable {}", variable)},
                     fmt::format("rank {} on {} finds no host {}, where rank 0 is to listen: {}", launch.rank,
                                 host_name(), excerpt(launch.master_host), why),
                     "Name a host that every node knows ('getent hosts NAME' says so), or its IPv4 address; look for a "
                     "misspelt line in the list of hosts");
}

std::string run_key_of(const Launch& launch, const std::string& nonce) {
  return bytes_of(hmac_sha256(launch.secret, "shardsim run" + nonce));
}

Joined join_ranks(const Launch& launch, double limit_s) {
  if (launch.rank > 0) return visit_door(launch, limit_s);
  if (launch.world_size > 1) return open_door(launch, limit_s);
  Joined alone;
  alone.links.resize(1);
  alone.address = "127.0.0.1";
  alone.run_key = run_key_of(launch, random_secret());
  return alone;
}

}  // namespace shardsim
