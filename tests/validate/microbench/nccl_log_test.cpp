#include "validate/microbench/nccl_log.h"

#include <doctest/doctest.h>

namespace shardsim::nccl_log_test {
namespace {

// https://github.com/NVIDIA/nccl/issues/1453, two nodes of H100: nccl-tests has put a row's beginning before one line.
constexpr const char* kNumbers =
    "[0] h100clust-worker-1:497888:497888 [0] NCCL INFO 65536 Bytes -> Algo 0 proto 0 time 37.798233\n"
    "[0]     345.6    0.19    0.36      0\n"
    "[0]       131072         32768     float     sum      -1[0] h100clust-worker-1:497888:497888 [0] NCCL INFO 131072 "
    "Bytes -> Algo 0 proto 1 time 51.603912\n";

// https://github.com/awslabs/ai-on-eks, the guide of slinky-slurm: a line of choices among those of the calls.
constexpr const char* kNamedNumbers =
    "2: node-0:309:309 [0] NCCL INFO AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008\n"
    "1: node-3:278:278 [0] NCCL INFO AllGather: opCount 1606 sendbuff 0x93fd44a00 recvbuff 0x96d44e200 count 2359808 "
    "datatype 7 op 0 root 0 comm 0x555e2c6387e0 [nranks=4] stream 0x555e2b3a4370\n";

// By https://github.com/NVIDIA/nccl/blob/5067397c2676d5aed50042fc39e5c8ee96eb0027/src/enqueue.cc#L822:
// "%s: %ld Bytes -> Algo %s proto %s channel{Lo..Hi}={%d..%d}", with the names of ncclAlgoToString and
// ncclProtoToString.
constexpr const char* kNames =
    "n:1:1 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}\n"
    "n:1:1 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}\n"
    "n:1:1 [0] NCCL INFO AllReduce: 268435456 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}\r\n";

// https://github.com/NVIDIA/nccl/issues/1189.
constexpr const char* kChannels =
    "H20-GPU-06:4015539:4015652 [0] NCCL INFO threadThresholds 8/8/64 | 32/8/64 | 512 | 512\n"
    "H20-GPU-06:4015539:4015652 [0] NCCL INFO 8 coll channels, 0 collnet channels, 0 nvls channels, 8 p2p channels, 2 "
    "p2p "
    "channels per peer\n";

}  // namespace

TEST_CASE("choices in numbers, as NCCL printed them first, without the name of the collective and with it") {
  const NcclLog log = read_nccl_log(kNumbers);
  CHECK(log.choices == std::vector<NcclChoice>{{"", 65536, "Tree", "LL", 0}, {"", 131072, "Tree", "LL128", 0}});
  CHECK(read_nccl_log(kNamedNumbers).choices == std::vector<NcclChoice>{{"AllGather", 37756928, "Ring", "Simple", 0}});
}

TEST_CASE("choices by name, with their channels") {
  const NcclLog log = read_nccl_log(kNames);
  CHECK(log.choices == std::vector<NcclChoice>{{"AllReduce", 4096, "Tree", "LL", 2},
                                               {"AllReduce", 8388608, "Ring", "LL128", 16},
                                               {"AllReduce", 268435456, "NVLSTree", "Simple", 16}});
}

TEST_CASE("how many channels there are for sends and receives") {
  const NcclLog log = read_nccl_log(kChannels);
  CHECK(log.choices.empty());
  CHECK(log.p2p_channels == 8);
  CHECK(log.p2p_channels_per_peer == 2);
}

TEST_CASE("what is not known is passed over, or kept as it stands") {
  const std::string info = "n:1:1 [0] NCCL INFO ";
  for (const char* const line :
       {"AllReduce: Bytes -> Algo 1 proto 2", "AllReduce: 8 Bytes -> Algo", "AllReduce: 8 Bytes -> Algo RING",
        "AllReduce: 8 Bytes -> Algo RING proto", "AllReduce: -8 Bytes -> Algo RING proto LL", " Bytes -> ", ":",
        "99999999999999999999 Bytes -> Algo 1 proto 2", "AllReduce: 8 Bytes => RING/LL", "p2p channels"}) {
    CAPTURE(line);
    CHECK(read_nccl_log(info + line) == NcclLog{});
  }
  CHECK(read_nccl_log("AllReduce: 8 Bytes -> Algo RING proto LL").choices.empty());  // not of the log
  CHECK(read_nccl_log("").choices.empty());
  const auto only = [&](const char* line) { return read_nccl_log(info + line).choices.at(0); };
  CHECK(only("AllReduce: 8 Bytes -> Algo STAR proto LL256 channel{Lo..Hi}={0..3}") ==
        NcclChoice{"AllReduce", 8, "STAR", "LL256", 4});
  CHECK(only("AllReduce: 8 Bytes -> Algo 17 proto 9 time 1.0") == NcclChoice{"AllReduce", 8, "17", "9", 0});
  for (const char* const channels : {"channel{Lo..Hi}={5..3}", "channel{Lo..Hi}={0..", "channel{Lo..Hi}={0..99999}",
                                     "channels 0-3", "channel{Lo..Hi}={-1..3}"}) {
    CAPTURE(channels);
    CHECK(only((std::string("AllReduce: 8 Bytes -> Algo RING proto LL ") + channels).c_str()).channels == 0);
  }
}

TEST_CASE("a file names the choice of each size, or that it is unknown") {
  NcclLog log = read_nccl_log(std::string(kNames) + kChannels);
  CHECK(nccl_choices_text(log, {4096, 16384, 8388608}) ==
        "# what NCCL chose, by its log of one call each that was not timed:\n"
        "# - all_reduce of 4096 B: Tree, LL, 2 channels\n"
        "# - all_reduce of 16384 B: unknown\n"
        "# - all_reduce of 8388608 B: Ring, LL128, 16 channels\n"
        "# - alltoall: sends and receives over 8 channels, at most 2 between two ranks\n");
  CHECK(nccl_choices_text(read_nccl_log(kNumbers), {65536}) ==
        "# what NCCL chose, by its log of one call each that was not timed:\n"
        "# - all_reduce of 65536 B: Tree, LL, channels unknown\n"
        "# - alltoall: unknown\n");
  CHECK(nccl_choices_text(read_nccl_log(kNamedNumbers), {37756928}).find("37756928 B: unknown") != std::string::npos);
}

}  // namespace shardsim::nccl_log_test
