#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace shardsim {

// A request to the server, as far as this program looks at it. Its path is decoded.
struct LocalRequest {
  bool posted = false;
  std::string path, host, origin, site;  // the headers Host, Origin and Sec-Fetch-Site; "" where there is none
  std::string body;
};

struct LocalReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body{};
};

// The parts of a server of this computer alone.
struct LocalService {
  int port = 0;  // 0: any that is free
  std::size_t most_body = 0;
  std::function<bool(const LocalRequest&)> admits;        // asked before a body is read; else the reply is 403
  std::function<LocalReply(const LocalRequest&)> answer;  // called in several threads at once
  std::string policy;                                     // Content-Security-Policy of every reply
};

// A server on 127.0.0.1, which no other computer reaches. It serves what `answer` says and no file, from its making to
// its end. cpp-httplib, which it consists of, is loaded with it (base/module.h): its start would cost every command.
class LocalServer {
 public:
  virtual ~LocalServer() = default;
  virtual int port() const = 0;

  // Errors: Failure::run where the port is taken, or this program was built without the package.
  static std::unique_ptr<LocalServer> start(LocalService service);
};

// The function that the module exports: it returns the server, or null and why.
using StartLocalServer = LocalServer* (*)(LocalService* service, std::string* why);

}  // namespace shardsim
