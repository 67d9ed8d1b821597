#include <algorithm>

#include "base/tree/map_reader.h"
#include "sim/engine/network.h"

namespace shardsim {

NetworkMaker make_closed_form, make_fair_queues, make_simgrid;  // of the files beside this one

namespace {
constexpr NetworkEntry kNetworks[] = {
    {"closed_form", "every transfer as if alone on its links: no contention, no event engine", make_closed_form},
    {"fair_queues", "max-min fair sharing as simgrid has it, each link a queue of its own", make_fair_queues},
    {"simgrid", "max-min fair sharing of every link among active transfers (SimGrid, model CM02)", make_simgrid, true},
};
}  // namespace

std::span<const NetworkEntry> networks() {
  return kNetworks;
}

std::unique_ptr<Network> make_network(const Tree& options) {
  return make_named(networks(), options, "network");
}

bool runs_once(const Tree& options) {
  const std::string& name = options.find("name")->scalar;
  return std::ranges::any_of(kNetworks, [&](const NetworkEntry& entry) { return entry.name == name && entry.once; });
}

}  // namespace shardsim
