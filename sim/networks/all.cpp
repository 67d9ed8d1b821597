#include "base/text.h"
#include "sim/network.h"

namespace shardsim {

std::unique_ptr<Network> make_closed_form(MapReader& options);
std::unique_ptr<Network> make_simgrid(MapReader& options);

namespace {
constexpr NetworkEntry kNetworks[] = {
    {"closed_form", "every transfer alone on its links: no contention, no event engine", make_closed_form},
    {"simgrid", "max-min fair sharing of every link among active transfers (SimGrid, model CM02)", make_simgrid},
};
}  // namespace

std::span<const NetworkEntry> networks() {
  return kNetworks;
}

std::unique_ptr<Network> make_network(const Tree& options) {
  MapReader reader(options, "network");
  const std::string name = reader.text("name");
  std::vector<std::string> known;
  for (const NetworkEntry& entry : networks()) {
    known.emplace_back(entry.name);
    if (entry.name != name) continue;
    auto network = entry.make(reader);
    reader.finish();
    return network;
  }
  throw input_error(reader.place_of("name"), "unknown network '" + name + "'", known_names_hint(name, known));
}

}  // namespace shardsim
