#include "accuracy/emulated/emulated_cluster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "accuracy/emulated/emulated_shape.h"
#include "accuracy/emulated/rank_processes.h"
#include "base/error.h"
#include "base/text.h"
#include "base/workers.h"
#include "validate/execute/meet/secret.h"

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

// A file below /proc/sys/net shows the namespace of who opens it.
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

int EmulatedCluster::run_ranks(const std::function<int(int rank)>& body, const std::function<bool()>& interrupted) {
  const std::string secret = random_secret_text();
  const auto in_place = [&](int rank) {
    private_.release_in_child();
    enter_network(rank_name_space(rank));
    set_rank_environment(shape_.ranks, rank, rank_address(0));
    ::setenv(kSecretVariable, secret.c_str(), 1);
    return body(rank);
  };
  RankProcesses processes(shape_.ranks.world_size(), in_place);
  return processes.wait({.interrupted = interrupted});
}

namespace {

[[noreturn]] void refused(const std::string& what) {
  throw run_error("the emulated cluster cannot be built: " + what + ": " + std::strerror(errno),
                  "It needs root, or user name spaces for ordinary users, and a kernel with veth, bridge and tbf");
}

void write_once(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) refused(path);
  ::close(file);
}

// root inside is the user outside.
void map_user(uid_t user, gid_t group) {
  write_once("/proc/self/setgroups", "deny");
  write_once("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
  write_once("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
}

void mount_own(const char* where) {
  if (::mount("none", where, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
    refused(std::string("mounting an empty ") + where);
  }
}

// Process 1: orphans become its children, which the kernel reaps when SIGCHLD is ignored.
[[noreturn]] void hold(int leash) {
  ::signal(SIGCHLD, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  char nothing;
  while (::read(leash, &nothing, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

PrivateNameSpaces::PrivateNameSpaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const int with_user = user == 0 ? 0 : CLONE_NEWUSER;
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | with_user) != 0) refused("making name spaces");
  if (with_user != 0) map_user(user, group);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) refused("making mounts private");
  mount_own("/run");
  mount_own("/dev/shm");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refused("making a pipe");
  std::fflush(nullptr);
  first_ = ::fork();
  if (first_ < 0) refused("starting a process");
  if (first_ == 0) {
    ::close(ends[1]);
    hold(ends[0]);
  }
  ::close(ends[0]);
  leash_ = ends[1];
}

PrivateNameSpaces::~PrivateNameSpaces() {
  if (leash_ < 0) return;
  ::close(leash_);
  while (::waitpid(first_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PrivateNameSpaces::release_in_child() {
  ::close(leash_);
  leash_ = -1;
}

void enter_network(const std::string& name) {
  const int space = ::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) refused("entering name space " + name);
  ::close(space);
}

void inside_network(const std::string& name, const std::function<void(const std::string& name)>& work) {
  const int own = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  enter_network(name);
  work(name);
  if (own < 0 || ::setns(own, CLONE_NEWNET) != 0) refused("going back from name space " + name);
  ::close(own);
}

}  // namespace shardsim
