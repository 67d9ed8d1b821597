#include "cli/serve/local_server.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/module.h"

namespace shardsim {

std::unique_ptr<LocalServer> LocalServer::start(LocalService service) {
  std::string why;
  const Module module = load_module("shardsim_http.so", "shardsim_start_server", why);
  if (module.function == nullptr)
    throw run_error("explore: the server cannot be loaded (" + why + ")",
                    "Install the package libcpp-httplib-dev and build again");
  const int port = service.port;
  LocalServer* const server = reinterpret_cast<StartLocalServer>(module.function)(&service, &why);
  if (server != nullptr) return std::unique_ptr<LocalServer>(server);
  throw run_error(port == 0 ? "explore: no port of 127.0.0.1 is free (" + why + ")"
                            : fmt::format("explore: cannot listen on port {} of 127.0.0.1 ({})", port, why),
                  "Give another --port, or none: any free one is taken then");
}

}  // namespace shardsim
