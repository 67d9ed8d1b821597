#include "validate/emulated/emulated_cluster.h"

#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "base/workers.h"
#include "validate/emulated/emulated_shape.h"
#include "validate/emulated/rank_processes.h"

namespace shardsim {
namespace {

constexpr const char* kRemedy = "It needs ip and tc of iproute2, and a kernel with veth, bridge and tbf";

void batch(const std::string& program, const std::string& name_space, const std::string& lines) {
  const std::string command = program + (name_space.empty() ? "" : " -n " + name_space) + " -batch -";
  const ProgramOutput output = run_program(command, lines);
  if (output.code == 0) return;
  throw run_error(fmt::format("the emulated cluster cannot be built: {} failed: {}", command,
                              excerpt(output.err.substr(0, output.err.find('\n')))),
                  kRemedy);
}

// A file below /proc/sys/net shows the name space of who opens it.
void set_kernel(const std::string& key, const std::string& value, bool must_exist = true) {
  const std::string path = "/proc/sys/net/" + key;
  std::ofstream file(path);
  file << value << std::flush;
  if (!file && must_exist) throw run_error("the emulated cluster cannot be built: writing " + path, kRemedy);
}

void tune(const std::string& name_space) {
  set_kernel("ipv6/conf/all/disable_ipv6", "1", false);  // absent where the kernel has none
  set_kernel("ipv6/conf/default/disable_ipv6", "1", false);
  if (name_space == kSwitchNameSpace) {
    set_kernel("bridge/bridge-nf-call-iptables", "0", false);
    set_kernel("bridge/bridge-nf-call-arptables", "0", false);
  } else {
    set_kernel("ipv4/tcp_congestion_control", "reno");
    set_kernel("ipv4/tcp_slow_start_after_idle", "0");
    set_kernel("ipv4/tcp_no_metrics_save", "1");
  }
}

std::string obstacle_met() {
  try {
    EmulatedShape least;
    least.ranks = {1, 1};
    const EmulatedCluster cluster(least);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::string emulation_obstacle() {
  return run_in_workers({{"probe of name spaces", obstacle_met}}, {}).front();
}

EmulatedCluster::EmulatedCluster(const EmulatedShape& shape) : shape_((check_shape(shape), shape)) {
  build();
  verify();
}

void EmulatedCluster::build() {
  const int ranks = shape_.ranks.world_size();
  batch("ip", "", make_name_spaces(shape_));
  inside_network(kSwitchNameSpace, tune);
  for (int rank = 0; rank < ranks; ++rank) inside_network(rank_name_space(rank), tune);
  batch("ip", kSwitchNameSpace, make_bridges(shape_));
  for (int rank = 0; rank < ranks; ++rank) batch("ip", rank_name_space(rank), make_rank_links(shape_, rank));
  batch("ip", kSwitchNameSpace, make_switch_links(shape_));
  for (int rank = 0; rank < ranks; ++rank) batch("tc", rank_name_space(rank), make_rank_shapers(shape_));
  batch("tc", kSwitchNameSpace, make_switch_shapers(shape_));
}

void EmulatedCluster::verify() const {
  std::string wrong = wrong_switch_shapers(shape_);
  for (int rank = 0; rank < shape_.ranks.world_size(); ++rank) {
    if (wrong.empty()) wrong = wrong_rank_shapers(shape_, rank);
    if (wrong.empty()) wrong = wrong_routes(shape_, rank);
  }
  if (!wrong.empty()) throw run_error("the emulated cluster is not as it should be: " + wrong, kRemedy);
}

void EmulatedCluster::set_nic_rate(int rank, Bandwidth rate) {
  batch("tc", rank_name_space(rank), change_nic_shaper("nic0", rate));
  batch("tc", kSwitchNameSpace, change_nic_shaper(fmt::format("nic{}", rank), rate));
}

int EmulatedCluster::run_ranks(const std::function<int(int rank)>& body, const Limits& limits) {
  const auto in_place = [&](int rank) {
    private_.release_in_child();
    enter_network(rank_name_space(rank));
    set_rank_environment(shape_.ranks, rank, rank_address(0));
    return body(rank);
  };
  RankProcesses processes(shape_.ranks.world_size(), in_place);
  return processes.wait({limits.settle_s, limits.end_s, limits.interrupted});
}

}  // namespace shardsim
