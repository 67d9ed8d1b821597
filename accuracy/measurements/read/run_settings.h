#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/measurements/read/measurements.h"

namespace shardsim {

// A setting of a run: a variable of NCCL's environment, "network", the one that NCCL said it uses, or its version.
struct RunSetting {
  std::string variable, value;
  bool lasts = false;  // for later runs of the log as well, as an exported variable does
};

// Those of a line: "NCCL_ALGO=Ring" of a job script or a command, "NCCL_ALGO set by environment to Ring." and "Using
// network Socket" of NCCL_DEBUG=INFO. Only variables that a prediction depends on.
std::vector<RunSetting> settings_in(std::string_view line);

// The settings that hold for one run of a log.
class RunSettings {
 public:
  void set(const RunSetting& setting) { (setting.lasts ? lasting_ : own_)[setting.variable] = setting.value; }
  // Takes over for the next run all settings stated since this run's last row: those of one run, and those that last.
  void go_on(const RunSettings& stated);

  std::string value(const std::string& variable) const;  // "" where nothing is stated
  // As NCCL_ALGO says for a collective, without NVLS where that is switched off; "": NCCL's choice.
  std::string algorithms(CollectiveKind kind) const;
  std::string protocols(CollectiveKind kind) const;  // as NCCL_PROTO
  SwitchedOff switched_off() const;
  bool without_pxn() const { return is_on("NCCL_PXN_DISABLE") || lacks_pxn(); }
  std::optional<int> cross_nic() const;  // 0 to 2
  int least_channels() const;            // 0: not said
  int most_channels() const;
  // "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0", those that a prediction follows, and what an old NCCL lacks; "" where there
  // are none. `has_multicast`: of GPUs that can have NVLS, where NCCL says that it has none.
  std::string followed(bool has_multicast) const;
  // Those that change how fast a run is, and that no prediction knows of.
  std::string not_followed() const;

 private:
  std::string statement(const std::string& variable) const;
  template <typename Test>
  std::string statements(const Test& is_wanted) const;  // of the variables that hold
  int channels(const char* newer, const char* older) const;
  bool is_on(const std::string& variable) const;
  std::vector<std::string> lacking() const;
  bool lacks_pxn() const;
  bool is_nvls_off() const { return value("NCCL_NVLS_ENABLE") == "0" || !value("NVLS").empty(); }

  std::map<std::string, std::string> own_, lasting_;
};

}  // namespace shardsim
