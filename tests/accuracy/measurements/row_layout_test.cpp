#include "accuracy/measurements/row_layout.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "tests/accuracy/measurements/measurement_text.h"

namespace shardsim::row_layout_test {

namespace {

MappedSystem mapped(const std::string& entry) {
  return system_map_from_tree(parse_yaml("schema: shardsim.clusters_map/1\nbox: " + entry + "\n", "map.yaml"),
                              "map.yaml")
      .systems.front();
}

// A row of a log that lists so many hosts with so many GPUs each; 0: of which only the ranks are known.
MeasuredRow logged(int hosts, int gpus, int ranks) {
  MeasuredRow row;
  row.place = {"x.log", 7};
  row.counts_hosts = true;
  row.nodes = hosts;
  row.gpus_per_node = gpus;
  row.ranks = ranks;
  row.counted_by = "some lines";
  row.bytes = 1 << 30;
  row.time = Seconds{1};
  row.record_kind = "log_row";
  return row;
}

std::pair<int, int> laid(MeasuredRow row, const MappedSystem& system) {
  lay_out(row, counts_of(system), system.spec);
  return {row.nodes, row.gpus_per_node};
}

std::string fault(const MeasuredRow& row, const MappedSystem& system) {
  return error_of([&] { laid(row, system); });
}

}  // namespace

TEST_CASE("hosts of a log are put into the NVLink domains of its cluster, in as few as hold them evenly") {
  const MappedSystem racks = mapped("gb200_nvl72");
  CHECK(laid(logged(1, 4, 4), racks) == std::pair{1, 4});
  CHECK(laid(logged(18, 4, 72), racks) == std::pair{1, 72});
  CHECK(laid(logged(32, 4, 128), racks) == std::pair{2, 64});
  CHECK(laid(logged(36, 4, 144), racks) == std::pair{2, 72});
  CHECK(laid(logged(2, 8, 16), mapped("dgx_h100")) == std::pair{2, 8});
}

TEST_CASE("processes with all GPUs of a host are on hosts of their own, and others may not be") {
  const auto of = [](int ranks, int gpus_of_process) {
    MeasuredRow row = logged(0, 0, ranks);
    row.gpus_of_process = gpus_of_process;
    return row;
  };
  CHECK(laid(of(16, 8), mapped("dgx_h100")) == std::pair{2, 8});
  CHECK(laid(of(72, 4), mapped("gb200_nvl72")) == std::pair{1, 72});
  CHECK(has(fault(of(16, 4), mapped("dgx_h100")), "does not say on how many nodes and GPUs its 16 ranks (some lines)"));
  CHECK(laid(of(16, 4), mapped("{cluster: dgx_h100, nodes: 2}")) == std::pair{2, 8});
}

TEST_CASE("the map says how ranks lie on nodes, and must agree with how many there are") {
  const MappedSystem stated = mapped("{cluster: dgx_h100, nodes: 2, gpus_per_node: 8}");
  CHECK(laid(logged(0, 0, 16), stated) == std::pair{2, 8});
  CHECK(laid(logged(0, 0, 0), stated) == std::pair{2, 8});
  CHECK(laid(logged(16, 1, 16), stated) == std::pair{2, 8});  // containers with host names of their own
  CHECK(laid(logged(0, 0, 32), mapped("{cluster: dgx_h100, gpus_per_node: 8}")) == std::pair{4, 8});
  CHECK(
      has(fault(logged(2, 2, 4), stated), "x.log:7: the map, for system \"box\", says 2 x 8, 16 ranks, and the log 4"));
  CHECK(has(fault(logged(0, 0, 16), mapped("dgx_h100")), "on how many nodes and GPUs its 16 ranks (some lines) ran"));
}

TEST_CASE("hosts that a log lists are no more nodes than that, and each of them is on one node") {
  const auto listed = [](int hosts, int gpus, int most_hosts) {
    MeasuredRow row = logged(hosts, gpus, hosts * gpus);
    row.most_hosts = most_hosts;
    return row;
  };
  const MappedSystem four = mapped("{cluster: dgx_h100, nodes: 4}"), rack = mapped("{cluster: gb200_nvl72, nodes: 1}");
  CHECK(has(fault(listed(2, 8, 2), four),
            "x.log:7: the map, for system \"box\", says 4 x 4, and the log lists its ranks on 2 hosts"));
  CHECK(has(fault(listed(3, 4, 3), mapped("{cluster: dgx_h100, nodes: 2, gpus_per_node: 6}")),
            "says 2 x 6, and the log lists 4 ranks on each host, which are all on one node"));
  CHECK(laid(listed(4, 4, 4), four) == std::pair{4, 4});
  CHECK(laid(listed(2, 8, 4), four) == std::pair{4, 4});  // two pairs of machines of one name
  CHECK(laid(listed(16, 1, 16), four) == std::pair{4, 4});
  CHECK(laid(listed(18, 4, 18), rack) == std::pair{1, 72});
  MeasuredRow cut = logged(2, 8, 16);  // six GPUs of one host are left of its lines
  cut.least_on_host = 6;
  CHECK(has(fault(cut, four), "says 4 x 4, and the log lists 6 GPUs on one host, which are all on one node"));
  CHECK(laid(cut, mapped("{cluster: dgx_h100, nodes: 2}")) == std::pair{2, 8});
  CHECK(laid(logged(2, 8, 16), four) == std::pair{4, 4});  // of whose ranks the log does not list all
}

TEST_CASE("a number of nodes or of GPUs that does not divide the ranks of the log contradicts it") {
  CHECK(has(fault(logged(2, 8, 16), mapped("{cluster: dgx_h100, nodes: 3}")),
            "x.log:7: the map, for system \"box\", says 3 nodes, and the log lists 16 ranks (some lines)"));
  CHECK(
      has(fault(logged(1, 4, 4), mapped("{cluster: dgx_h100, nodes: 8}")), "says 8 nodes, and the log lists 4 ranks"));
  CHECK(has(fault(logged(2, 8, 16), mapped("{cluster: dgx_h100, gpus_per_node: 3}")), "says 3 GPUs per node, and"));
  CHECK(laid(logged(2, 8, 16), mapped("{cluster: dgx_h100, gpus_per_node: 8}")) == std::pair{2, 8});
}

TEST_CASE("a row of a table keeps its own counts") {
  MeasuredRow row = logged(4, 8, 0);
  row.counts_hosts = false;
  CHECK(laid(row, mapped("{cluster: dgx_h100, nodes: 2, gpus_per_node: 8}")) == std::pair{4, 8});
}

TEST_CASE("a time that no link of the cluster allows is told with both rates") {
  const MappedSystem box = mapped("dgx_h100");  // 18 links of 25 GB/s a GPU, 8 NICs of 50 GB/s a node
  MeasuredRow row = logged(1, 2, 2);
  row.kind = CollectiveKind::send_recv;
  row.bytes = 1'000'000'000;
  row.time = Seconds{1e9 / 440e9};
  CHECK(above_links(row, box.spec) == "");
  row.time = Seconds{1e9 / 900e9};
  CHECK(has(above_links(row, box.spec), "at 900 GB/s or more, and the links of a GPU of the cluster carry 450"));
  row.nodes = 2;
  row.gpus_per_node = 8;
  row.kind = CollectiveKind::all_to_all;  // half of the bytes of 8 GPUs leave a node
  row.time = Seconds{4e9 / 390e9};
  CHECK(above_links(row, box.spec) == "");
  row.time = Seconds{4e9 / 500e9};
  CHECK(has(above_links(row, box.spec), "at 500 GB/s or more, and the NICs of a node of the cluster carry 400"));
}

TEST_CASE("a log of another GPU than the cluster's is told, however the driver writes the name") {
  MeasuredRow row = logged(1, 8, 8);
  const auto told = [&](const std::string& gpu, const std::string& cluster) {
    row.gpu = gpu;
    return other_gpu(row, mapped(cluster).spec);
  };
  CHECK(told("NVIDIA H100 80GB HBM3", "dgx_h100") == "");
  CHECK(told("Tesla V100-SXM2-16GB", "dgx1_v100") == "");
  CHECK(told("NVIDIA Graphics Device", "dgx_h100") == "");
  CHECK(has(told("NVIDIA H100 PCIe", "dgx_h100"), "the log is of NVIDIA H100 PCIe, the cluster has H100-SXM5-80GB"));
  CHECK(has(told("NVIDIA H100 NVL", "dgx_h100"), "the log is of NVIDIA H100 NVL"));
  CHECK(has(told("NVIDIA H100 80GB HBM3", "pcie_h100_4x"), "the log is of NVIDIA H100 80GB HBM3"));
  CHECK(told("NVIDIA H100 PCIe", "pcie_h100_4x") == "");
  CHECK(has(told("NVIDIA A100-PCIE-40GB", "dgx_a100_80gb"), "the log is of NVIDIA A100-PCIE-40GB"));
  CHECK(told("NVIDIA A100-SXM4-40GB", "dgx_a100_80gb") == "");
  CHECK(has(told("NVIDIA H20-3e", "dgx_h200"), "the log is of NVIDIA H20-3e"));
  CHECK(has(told("NVIDIA GeForce RTX 5090", "pcie_rtx6000d"), "RTX-6000D"));
  CHECK(
      has(told("NVIDIA RTX PRO 6000 Blackwell Server Edition", "pcie_rtx6000d"), "the log is of NVIDIA RTX PRO 6000"));
  CHECK(told("NVIDIA RTX 6000D", "pcie_rtx6000d") == "");
  CHECK(told("AMD EPYC 7V13 64-Core Processor", "emulated_2x4") == "");
  CHECK(told("Intel(R) Xeon(R) Platinum 8480C", "emulated_2x4") == "");
  CHECK(has(told("AMD EPYC", "dgx_h100"), "the log is of ranks on AMD EPYC"));
  CHECK(has(told("NVIDIA H100 80GB HBM3", "emulated_2x4"), "cpu_rank"));
}

}  // namespace shardsim::row_layout_test
