#include <string>

#include "base/error.h"
#include "base/module.h"
#include "sim/engine/network.h"

namespace shardsim {
namespace {

constexpr const char* kSimgridModule = "shardsim_simgrid.so";
using RunSimgrid = void (*)(const std::vector<Link>&, const std::vector<TransferRoute>&,
                            const std::function<void(NetworkSession&)>&);

RunSimgrid loaded_simgrid() {
  std::string why;
  const auto run = reinterpret_cast<RunSimgrid>(load_module(kSimgridModule, "shardsim_simgrid_run", why).function);
  if (run == nullptr)
    throw run_error("SimGrid cannot be loaded, which the network 'simgrid' is: " + why,
                    "Use the network fair_queues, which gives the same times, or install the whole of shardsim again");
  return run;
}

// SimGrid brings some sixty libraries, whose start takes 25 ms: it is in a module, which only those load who ask for
// it.
class SimgridNetwork : public Network {
 public:
  void run(const std::vector<Link>& links, const std::vector<TransferRoute>& routes,
           const std::function<void(NetworkSession&)>& body) override {
    loaded_simgrid()(links, routes, body);
  }
  bool is_once() const override { return true; }
};

}  // namespace

std::unique_ptr<Network> make_simgrid(MapReader& options) {
  options.choice("flows", {"aggregated"}, "aggregated");
  options.choice("send_completion", {"rendezvous"}, "rendezvous");
  return std::make_unique<SimgridNetwork>();
}

}  // namespace shardsim
