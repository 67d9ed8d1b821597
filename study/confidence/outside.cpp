#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "study/confidence/interval.h"

namespace shardsim {
namespace {

// "InfiniBand", as people write it.
std::string transport_words(const std::string& transport) {
  if (transport == "infiniband") return "InfiniBand";
  if (transport == "roce") return "Ethernet (RoCE)";
  if (transport == "tcp") return "TCP";
  if (transport == "efa") return "EFA";
  return transport.empty() ? "an unknown network" : capital(transport);
}

}  // namespace

std::vector<std::string> outside_of(const IterationSetting& setting, const std::vector<Residual>& residuals,
                                    const std::string& left_out) {
  bool software = false, gpu = false, gpu_of_software = false, network = setting.nodes == 1, fitted = false;
  int most_nodes = 0;
  for (const Residual& residual : residuals) {
    if (!residual.is_iteration() || residual.system == left_out) continue;
    const IterationSetting& known = residual.setting;
    fitted = fitted || (residual.fitted && known.software == setting.software);
    if (residual.fitted) continue;
    gpu = gpu || known.gpu == setting.gpu;
    if (known.software != setting.software) continue;
    software = true;
    gpu_of_software = gpu_of_software || known.gpu == setting.gpu;
    if (known.transport != setting.transport) continue;
    network = true;
    most_nodes = std::max(most_nodes, known.nodes);
  }
  const std::string whose = setting.software == "none" ? "without a simulated host" : "of " + setting.software;
  std::vector<std::string> outside;
  if (!software)
    outside.push_back(fmt::format("no published run {}{}", whose, fitted ? " that no constant was chosen by" : ""));
  if (!gpu) {
    outside.push_back(fmt::format("no published run on {}", setting.gpu));
  } else if (software && !gpu_of_software) {
    outside.push_back(fmt::format("no published run {} on {}", whose, setting.gpu));
  }
  if (software && !network) {
    outside.push_back(fmt::format("no published run {} on {}", whose, transport_words(setting.transport)));
  } else if (software && setting.nodes > most_nodes && setting.nodes > 1) {
    outside.push_back(fmt::format("no published run {} on {} at more than {}", whose,
                                  transport_words(setting.transport),
                                  counted(static_cast<std::size_t>(most_nodes), "node")));
  }
  return outside;
}

}  // namespace shardsim
