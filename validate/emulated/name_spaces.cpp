#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "validate/emulated/emulated_cluster.h"

namespace shardsim {
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
