#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// The choice of NCCL for one call, as its log says. "" and 0: what this version of NCCL does not say.
struct NcclChoice {
  std::string collective;  // "AllReduce"; "" before NCCL 2.22 or so
  std::int64_t bytes = 0;
  std::string algorithm;  // as NCCL_ALGO has it: "Ring", "Tree", "NVLS"; a name that is not known here as it stands
  std::string protocol;   // as NCCL_PROTO has it: "LL", "LL128", "Simple"; likewise
  int channels = 0;
  bool operator==(const NcclChoice&) const = default;
};

// The choices that the log of one process states. NCCL takes no such choice for sends and receives, of which an
// all-to-all is made; the log says only how many channels there are for them.
struct NcclLog {
  std::vector<NcclChoice> choices;  // in their order
  int p2p_channels = 0, p2p_channels_per_peer = 0;
  bool operator==(const NcclLog&) const = default;
};

// Reads a log by NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING of the first rank of a communicator; the others log no
// choices. Reads what NCCL has printed since 2.19 (2023), before which there is no such line. Whatever it does not
// know, it passes over: another version's log leaves choices unknown and is no error.
NcclLog read_nccl_log(std::string_view text);

// Comments for a file of nccl-tests: what was chosen for all-reduce at each of the sizes (bytes), and for all-to-all.
// "unknown" where the log does not say.
std::string nccl_choices_text(const NcclLog& log, const std::vector<std::int64_t>& sizes);

}  // namespace shardsim
