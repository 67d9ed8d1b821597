#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace shardsim {

// Puts the calling process and all its later children into network, mount and process-id name spaces of their own (with
// a user name space, too, where the caller is not root), with an empty /run and /dev/shm. Nothing in them outlives the
// process: when it ends, however it ends, so does every process that was started in them, and with the last of them the
// name spaces. The process can never go back; work that needs the outer world or that forks by itself comes first.
class PrivateNameSpaces {
 public:
  // The caller has one thread. Errors: Failure::run with what the kernel refused.
  PrivateNameSpaces();
  ~PrivateNameSpaces();
  PrivateNameSpaces(const PrivateNameSpaces&) = delete;
  PrivateNameSpaces& operator=(const PrivateNameSpaces&) = delete;

  // For a child of the process, right after fork: lets go of what keeps the name spaces alive.
  void release_in_child();

 private:
  pid_t first_ = 0;  // process 1 of the name space; when it ends the kernel kills all others there
  int leash_ = -1;   // it ends when this closes
};

// A network name space that `ip netns add` made, by name.
class NetworkNameSpace {
 public:
  explicit NetworkNameSpace(const std::string& name);  // errors: Failure::run
  ~NetworkNameSpace();
  NetworkNameSpace(NetworkNameSpace&& other) noexcept;
  NetworkNameSpace(const NetworkNameSpace&) = delete;
  NetworkNameSpace& operator=(const NetworkNameSpace&) = delete;

  void enter() const;  // for good. Errors: Failure::run
  // `work` with the calling thread inside; back outside afterwards.
  void inside(const std::function<void()>& work) const;

 private:
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace shardsim
