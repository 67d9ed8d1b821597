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

// The parts of a setting that published iterations have, those of one system left out.
struct MeasuredParts {
  bool software = false, gpu = false, gpu_of_software = false, network = false;
  bool fitted = false;  // the software, of iterations to which something was fitted
  int most_nodes = 0;   // with the software and the network
};

MeasuredParts known_of(const IterationSetting& setting, const std::vector<Residual>& residuals,
                       const std::string& left_out) {
  MeasuredParts of;
  of.network = setting.nodes == 1;
  for (const Residual& residual : residuals) {
    if (!residual.is_iteration() || residual.system == left_out) continue;
    const IterationSetting& known = residual.setting;
    of.fitted = of.fitted || (residual.fitted && known.software == setting.software);
    if (residual.fitted) continue;
    of.gpu = of.gpu || known.gpu == setting.gpu;
    if (known.software != setting.software) continue;
    of.software = true;
    of.gpu_of_software = of.gpu_of_software || known.gpu == setting.gpu;
    if (known.transport != setting.transport) continue;
    of.network = true;
    of.most_nodes = std::max(of.most_nodes, known.nodes);
  }
  return of;
}

// A run of the system itself that is left out does not count; that it exists is not denied.
std::string_view no_run(bool own) {
  return own ? "no other published run" : "no published run";
}

}  // namespace

std::vector<std::string> outside_of(const IterationSetting& setting, const std::vector<Residual>& residuals,
                                    const std::string& left_out) {
  const MeasuredParts known = known_of(setting, residuals, left_out);
  const MeasuredParts with_own = left_out.empty() ? known : known_of(setting, residuals, "");
  const std::string whose = setting.software == "none" ? "without a simulated host" : "of " + setting.software;
  const std::string network = transport_words(setting.transport);
  std::vector<std::string> outside;
  if (!known.software)
    outside.push_back(known.fitted ? fmt::format("all {}published runs {} were used to choose constants",
                                                 with_own.software ? "other " : "", whose)
                                   : fmt::format("{} {}", no_run(with_own.software), whose));
  if (!known.gpu) {
    outside.push_back(fmt::format("{} on {}", no_run(with_own.gpu), setting.gpu));
  } else if (known.software && !known.gpu_of_software) {
    outside.push_back(fmt::format("{} {} on {}", no_run(with_own.gpu_of_software), whose, setting.gpu));
  }
  if (known.software && !known.network) {
    outside.push_back(fmt::format("{} {} on {}", no_run(with_own.network), whose, network));
  } else if (known.software && setting.nodes > known.most_nodes && setting.nodes > 1) {
    outside.push_back(fmt::format("{} {} on {} at more than {}", no_run(with_own.most_nodes >= setting.nodes), whose,
                                  network, counted(static_cast<std::size_t>(known.most_nodes), "node")));
  }
  return outside;
}

}  // namespace shardsim
