#include "accuracy/measurements/switched_off.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "study/scenario/named_tree.h"
#include "tests/base/error_text.h"

namespace shardsim::switched_off_test {

namespace {

ClusterSpec cluster(const std::string& name) {
  return read_cluster(load_named(name, "clusters", "", {"test"}));
}

std::string told(const SwitchedOff& off, const std::string& name, int nodes = 2, int gpus = 8) {
  MeasuredRow row;
  row.nodes = nodes;
  row.gpus_per_node = gpus;
  row.switched_off = off;
  return switched_off(row, cluster(name));
}

}  // namespace

TEST_CASE("a run without what its cluster has is no measurement of it") {
  SwitchedOff off;
  CHECK(told(off, "dgx_h100").empty());
  off.peer_to_peer = "NCCL_P2P_DISABLE=1";
  CHECK(told(off, "dgx_h100") == "NCCL_P2P_DISABLE=1, so its GPUs did not copy directly, as those of the cluster do");
  CHECK(told(off, "dgx_h100", 2, 1).empty());
  off = {};
  off.direct_copies = "via P2P/CUMEM";
  CHECK(told(off, "dgx_h100").empty());
  MeasuredRow row;
  row.nodes = 1;
  row.gpus_per_node = 8;
  row.switched_off = off;
  ClusterSpec apart = cluster("pcie_rtx6000d");
  CHECK(switched_off(row, apart).empty());
  apart.pcie.p2p = false;
  CHECK(has(switched_off(row, apart), "its GPUs copied directly (via P2P/CUMEM)"));
  off = {};
  off.shared_memory = "NCCL_SHM_DISABLE=1";
  CHECK(told(off, "dgx_h100").empty());  // whose GPUs never meet in the host's memory
  CHECK(has(told(off, "pcie_rtx6000d"), "so GPUs that do not copy directly met over the NICs"));
}

TEST_CASE("sockets are no measurement of other transports, and plugins do not ask whether InfiniBand is on") {
  SwitchedOff off;
  off.infiniband = "NCCL_IB_DISABLE=1";
  CHECK(has(told(off, "dgx_h100"),
            "so its nodes exchanged over sockets, and the transport of the cluster is infiniband"));
  CHECK(told(off, "dgx_h100", 1, 8).empty());
  CHECK(told(off, "aws_p4d").empty());
  off = {};
  off.all_but_sockets = "Using network Socket";
  CHECK(has(told(off, "aws_p4d"), "Using network Socket, so its nodes exchanged over sockets"));
  off = {};
  off.gpudirect = "NCCL_NET_GDR_LEVEL=LOC";
  CHECK(has(told(off, "dgx_h100"), "so its NICs did not reach the GPUs directly"));
}

TEST_CASE("a run over another network than the cluster's is no measurement of it") {
  SwitchedOff off;
  off.network = "AWS";
  CHECK(told(off, "dgx_h100") == "Using network AWS, and the transport of the cluster is infiniband");
  CHECK(told(off, "dgx_h100", 1).empty());
  CHECK(told(off, "aws_p4d").empty());
  CHECK(told(off, "perlmutter_a100", 2, 4).empty());
  off.network = "GPUDirectTCPX_v7";
  CHECK(has(told(off, "dgx_h100"), "Using network GPUDirectTCPX_v7"));
  CHECK(told(off, "gcp_a3_mega").empty());
  off.network = "IBext_v8";
  CHECK(told(off, "dgx_h100").empty());
  CHECK(told(off, "hgx_h100_8x400g_roce").empty());
  CHECK(has(told(off, "aws_p4d"), "and the transport of the cluster is efa"));
  off.network = "Unheard";
  CHECK(told(off, "dgx_h100").empty());
}

TEST_CASE("a run over fewer NICs, or without the NVLinks between hosts, is no measurement of a cluster with more") {
  SwitchedOff off;
  off.other_nics = "NCCL_IB_HCA=mlx5_0,mlx5_1";
  off.nics_left = 2;
  CHECK(told(off, "dgx_h100") ==
        "NCCL_IB_HCA=mlx5_0,mlx5_1, so its hosts exchanged over 2 of the 8 NICs that the cluster has for these GPUs");
  CHECK(told(off, "dgx_h100", 2, 2).empty());  // each of the two GPUs has its own
  CHECK(told(off, "dgx_h100", 1, 8).empty());
  off.nics_left = 8;
  CHECK(told(off, "dgx_h100").empty());
  off = {};
  off.nvlinks_of_hosts = "NCCL_MNNVL_ENABLE=0";
  CHECK(told(off, "dgx_h100").empty());
  CHECK(told(off, "gb200_nvl72", 1, 72) ==
        "NCCL_MNNVL_ENABLE=0, so its hosts exchanged over NICs, and a node of the cluster joins 18 hosts by NVLink");
  CHECK(told(off, "gb200_nvl72", 1, 4).empty());
}

}  // namespace shardsim::switched_off_test
