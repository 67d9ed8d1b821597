#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "tests/base/edited_text.h"
#include "tests/topology/cluster_files.h"
#include "topology/export/export.h"
#include "topology/import/listed_devices.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/gpu_models.h"

namespace shardsim::read_smi_matrix_test {

using namespace shardsim::testing;

namespace {

// Two sockets, two GPUs and one NIC each; NVLinks 4 a pair within the socket, 2 across.
constexpr const char* kMesh = R"(
        GPU0  GPU1  GPU2  GPU3  NIC0  NIC1  CPU Affinity  NUMA Affinity  GPU NUMA ID
GPU0     X    NV4   NV2   SYS   PIX   SYS   0-15          0              N/A
GPU1    NV4    X    SYS   NV2   PIX   SYS   0-15          0              N/A
GPU2    NV2   SYS    X    NV4   SYS   PXB   16-31         1              N/A
GPU3    SYS   NV2   NV4    X    SYS   NODE  16-31         1              N/A
NIC0    PIX   PIX   SYS   SYS    X    SYS
NIC1    SYS   SYS   PXB   NODE  SYS    X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
)";

ClusterSpec imported(const std::string& text, const std::string& model = "A100-SXM4-40GB") {
  ImportOptions options;
  options.gpu_model = model;
  return cluster_of(read_smi_matrix(text, "topo.txt", find_gpu_model(model)), options);
}

bool refuses(const std::string& text, const std::string& line, const std::string& what,
             const std::string& model = "A100-SXM4-40GB") {
  const std::string message = error_of([&] { imported(text, model); });
  const std::string place = line.empty() ? "topo.txt: " : "topo.txt:" + line + ":";
  const bool found = message.starts_with(place.substr(0, place.size() - 1)) &&
                     message.find(what) != std::string::npos && message.find('\n') == std::string::npos;
  if (!found) MESSAGE("message: ", message);
  return found;
}

// NVLinks of every pair of the public matrix of an 8 x V100 server (hybrid cube mesh): 6 a GPU.
const std::vector<std::array<int, 3>> kV100 = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 6, 2}, {1, 2, 2}, {1, 3, 1},
                                               {1, 7, 2}, {2, 3, 2}, {2, 4, 1}, {3, 5, 1}, {4, 5, 2}, {4, 6, 1},
                                               {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 1}};

std::string v100_matrix(char separator) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += separator + ("GPU" + std::to_string(i));
  text += "\n";
  for (int a = 0; a < 8; ++a) {
    text += "GPU" + std::to_string(a);
    for (int b = 0; b < 8; ++b) {
      std::string cell = a == b ? "X" : "SYS";
      for (const auto& [x, y, n] : kV100) {
        if ((x == a && y == b) || (x == b && y == a)) cell = "NV" + std::to_string(n);
      }
      text += separator + cell;
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a mesh is read with its links, switches, sockets and NICs") {
  const ClusterSpec spec = imported(kMesh);
  CHECK(spec.nvlink.kind == NvlinkKind::mesh);
  CHECK(spec.nvlink.pairs == std::vector<NvlinkSpec::Pair>{{0, 1, 4}, {0, 2, 2}, {1, 3, 2}, {2, 3, 4}});
  CHECK(spec.nvlink.links_per_gpu == 12);
  CHECK(spec.pcie.sockets == 2);
  CHECK(spec.pcie.generation == 4);
  REQUIRE(spec.nics);
  CHECK(spec.nics->shared_by == 2);
  const Cluster cluster(spec);
  CHECK(gbps(cluster.local_route(0, 1).width) == doctest::Approx(80));  // 4 x 20, NVIDIA/nccl src/graph/topo.h
  CHECK(cluster.path_class(0, 3) == PathClass::nvb);
  const std::string matrix = write_smi_matrix(spec);
  CHECK(matrix.find("GPU2  NV2    SYS    X      NV4    SYS    PXB    1\n") != std::string::npos);
  CHECK(matrix.find("GPU3  SYS    NV2    NV4    X      SYS    NODE   1\n") != std::string::npos);
  CHECK(matrix.find("GPU0  X      NV4    NV2    SYS    PIX    SYS    0\n") != std::string::npos);
}

TEST_CASE("a byte order mark before the matrix is skipped") {
  CHECK(imported("\xef\xbb\xbf" + std::string(kMesh + 1)).nvlink.pairs == imported(kMesh).nvlink.pairs);
}

TEST_CASE("the same NV# everywhere is a switch when it is all a GPU has, else a mesh") {
  const auto alike = [](const std::string& cell) {
    return "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\tX\t" + cell + "\t" + cell + "\t0-3\nGPU1\t" + cell + "\tX\t" +
           cell + "\t0-3\nGPU2\t" + cell + "\t" + cell + "\tX\t0-3\n";
  };
  CHECK(imported(alike("NV12")).nvlink.kind == NvlinkKind::nvswitch);
  CHECK(imported(alike("NV12")).nvlink.links_per_gpu == 12);
  CHECK(imported(alike("NV4")).nvlink.kind == NvlinkKind::mesh);
  CHECK(imported(alike("NV18"), "H100-SXM5-80GB").nvlink.links_per_gpu == 18);
  CHECK(refuses(alike("NV8"), "2", "GPU0 has 16 NVLinks, the model A100-SXM4-40GB has 12"));
  CHECK(refuses(alike("NV1"), "2", "the model A10G has 0", "A10G"));
}

TEST_CASE("the public V100 cube mesh: 6 links a GPU, 4 linked and 3 relayed peers, fullest link 3 chunks") {
  for (const char separator : {'\t', ' '}) {
    const ClusterSpec spec = imported(v100_matrix(separator), "V100-SXM2-16GB");
    const Cluster cluster(spec);
    std::vector<double> chunks(cluster.links().size());  // of an all-to-all, per NVLink of the pair
    for (int a = 0; a < 8; ++a) {
      int links = 0, linked = 0, relayed = 0;
      for (const auto& pair : spec.nvlink.pairs) links += pair.a == a || pair.b == a ? pair.links : 0;
      for (int b = 0; b < 8; ++b) {
        linked += cluster.path_class(a, b) == PathClass::nvl;
        relayed += cluster.path_class(a, b) == PathClass::nvb;
        for (const LinkId id : cluster.local_route(a, b).links) chunks[id] += 20 / gbps(cluster.links()[id].rate);
      }
      CHECK(links == 6);
      CHECK(linked == 4);
      CHECK(relayed == 3);
    }
    CHECK(*std::max_element(chunks.begin(), chunks.end()) == doctest::Approx(3));
  }
}

TEST_CASE("terminal escapes, old names and a missing legend are read") {
  const std::string underlined = edited(kMesh, "GPU0  GPU1", "\x1b[4mGPU0  GPU1");
  CHECK(imported(underlined) == imported(kMesh));
  const std::string old =
      edited(edited(kMesh, "GPU1  GPU2  GPU3  NIC0", "GPU1  GPU2  GPU3  mlx5_0"), "\nNIC0 ", "\nmlx5_0 ");
  CHECK(imported(old).pcie.tree == imported(kMesh).pcie.tree);
  const std::string text = kMesh;
  CHECK(imported(text.substr(0, text.find("\nLegend"))) == imported(kMesh));
}

TEST_CASE("NICs that share no switch with a GPU are left out where others do, unless --nics names them") {
  const std::string text =
      edited(edited(kMesh, "SYS   NODE  16-31", "SYS   SYS   16-31"), "PXB   NODE  SYS    X", "PXB   SYS   SYS    X");
  const std::string far =
      edited(edited(text, "SYS   PXB   16-31", "SYS   SYS   16-31"), "SYS   SYS   PXB   SYS", "SYS   SYS   SYS   SYS");
  const ClusterSpec spec = imported(far);
  REQUIRE(spec.nics);
  CHECK(nics_of_node(spec) == 1);
  CHECK(spec.pcie.sockets == 2);
  ImportOptions options;
  options.gpu_model = "A100-SXM4-40GB";
  options.nics = "mlx5_1";
  const ClusterSpec named = cluster_of(read_smi_matrix(far, "topo.txt", find_gpu_model(options.gpu_model)), options);
  CHECK(nics_of_node(named) == 1);
  CHECK(uses_nic("mlx5_0,mlx5_1", "mlx5_1"));
  CHECK(uses_nic("^mlx5_8", "mlx5_0"));
  CHECK_FALSE(uses_nic("^mlx5_8", "mlx5_8"));
  CHECK_FALSE(uses_nic("=mlx5_1", "mlx5_10"));
}

TEST_CASE("a matrix that hides NVLinks is noted, and --nvlinks states them") {
  // As topo -mp prints it: GPUs 0 and 1 share a switch, GPUs 2 and 3 a socket.
  std::string paths = kMesh;
  for (const char* way : {"PIX", "PIX", "NODE", "NODE"}) paths = edited(paths, "NV4", way);
  for (int cell = 0; cell < 4; ++cell) paths = edited(paths, "NV2", "SYS");
  ImportOptions options;
  options.gpu_model = "A100-SXM4-40GB";
  const auto cluster = [&] {
    return cluster_of(read_smi_matrix(paths, "topo.txt", find_gpu_model(options.gpu_model)), options);
  };
  CHECK(lacks_nvlink(cluster()));
  options.nvlinks = 12;
  CHECK(cluster().nvlink.kind == NvlinkKind::nvswitch);
  CHECK(cluster().nvlink.links_per_gpu == 12);
}

TEST_CASE("an unknown model takes the data sheet of another one, and its own links") {
  ImportOptions options;
  options.gpu_model = "H999";
  options.gpu_like = "H100-SXM5-80GB";
  const std::string text =
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\tX\tNV8\tNV8\t0-3\nGPU1\tNV8\tX\tNV8\t0-3\nGPU2\tNV8\tNV8\tX\t0-3\n";
  const ClusterSpec spec = cluster_of(read_smi_matrix(text, "topo.txt", chosen_model(options)), options);
  CHECK(spec.gpu.model == "H999");
  CHECK(spec.nvlink.kind == NvlinkKind::nvswitch);
  CHECK(spec.nvlink.links_per_gpu == 8);
}

namespace {

// Eight GPUs on one socket, `links` of each to a switch, and whatever stands below.
std::string switch_matrix(const std::vector<int>& links, const std::string& label = "") {
  std::string text = label;
  for (std::size_t i = 0; i < links.size(); ++i) text += " GPU" + std::to_string(i);
  text += "\n";
  for (std::size_t a = 0; a < links.size(); ++a) {
    text += label + "GPU" + std::to_string(a);
    for (std::size_t b = 0; b < links.size(); ++b)
      text += a == b ? " X" : " NV" + std::to_string(std::min(links[a], links[b]));
    text += "\n";
  }
  return text;
}

bool opens(const ClusterSpec& spec, const std::string& what) {
  return std::ranges::any_of(spec.open, [&](const std::string& note) { return note.find(what) != std::string::npos; });
}

// Two GPUs with a NIC each, of these names.
std::string with_nics(const std::string& first, const std::string& second, const std::string& below = "") {
  return " GPU0 GPU1 NIC0 NIC1\nGPU0 X SYS PIX SYS\nGPU1 SYS X SYS PIX\nNIC0 PIX SYS X SYS\nNIC1 SYS PIX SYS X\n\n"
         "NIC Legend:\n\n  NIC0: " +
         first + "\n  NIC1: " + second + "\n" + below;
}

}  // namespace

TEST_CASE("a GPU that lost a link to the switch is no mesh of more links than the model has") {
  const ClusterSpec spec = imported(switch_matrix({18, 18, 18, 17, 18, 18, 18, 18}), "H100-SXM5-80GB");
  CHECK(spec.nvlink.kind == NvlinkKind::nvswitch);
  CHECK(spec.nvlink.links_per_gpu == 17);
  CHECK(opens(spec, "NVLinks to the switch differ, 17 to 18: GPU 3 has the fewest"));
  CHECK(refuses(switch_matrix({18, 18, 18, 17}), "2", "NVLinks, the model A100-SXM4-40GB has 12"));
}

TEST_CASE("GPUs that all lost links to the switch are no mesh either, and a note says what is gone") {
  const ClusterSpec alike = imported(switch_matrix({17, 17, 17, 17, 17, 17, 17, 17}), "H100-SXM5-80GB");
  CHECK(alike.nvlink.kind == NvlinkKind::nvswitch);
  CHECK(alike.nvlink.links_per_gpu == 17);
  CHECK(opens(alike, "no GPU has all NVLinks of its model: H100-SXM5-80GB has 18, and 17 at most lead to the switch"));
  const ClusterSpec unlike = imported(switch_matrix({17, 17, 16, 17, 17, 17, 17, 17}), "H100-SXM5-80GB");
  CHECK(unlike.nvlink.links_per_gpu == 16);
  CHECK(opens(unlike, "NVLinks to the switch differ, 16 to 17: GPU 2 has the fewest"));
  // Four GPUs with four links a pair are the mesh of this model, and three a pair are one that lost links.
  CHECK(imported(switch_matrix({4, 4, 4, 4})).nvlink.kind == NvlinkKind::mesh);
  CHECK(imported(switch_matrix({3, 3, 3, 3})).nvlink.kind == NvlinkKind::mesh);
}

TEST_CASE("labels of launchers before the lines of a matrix are taken off") {
  const ClusterSpec plain = imported(switch_matrix({12, 12, 12, 12}));
  for (const char* label : {"0: ", "[pod/dgx-0/c] ", "2026-07-01T12:00:00Z stdout F "})
    CHECK(imported(switch_matrix({12, 12, 12, 12}, label)).nvlink == plain.nvlink);
}

TEST_CASE("further matrices of a file are told, with whether they differ") {
  const std::string one = switch_matrix({12, 12, 12, 12}), other = switch_matrix({12, 12});
  CHECK(opens(imported(one + "\nhost2\n" + other), "line 8 begins another matrix, which differs from the first: only"));
  CHECK(opens(imported(one + "\nhost2\n" + one), "line 8 begins another matrix, equal to the first"));
  const std::vector<std::string> open = imported(one + "\nhost2\n" + other).open;
  CHECK(std::ranges::count_if(open, [](const std::string& note) { return note.find("another") != note.npos; }) == 1);
  CHECK_FALSE(opens(imported(one), "another matrix"));
}

TEST_CASE("the names of NICs in a matrix say their transport, as in NCCL's dumps") {
  CHECK(imported(with_nics("rdmap79s0", "rdmap80s0")).nics->transport == "efa");
  CHECK(imported(with_nics("rocep24s0", "rocep41s0")).nics->transport == "roce");
  CHECK(imported(with_nics("ibp24s0", "ibp41s0")).nics->transport == "infiniband");
  CHECK(opens(imported(with_nics("mlx5_0", "mlx5_1")), "transport: not in the file, infiniband stands in"));
}

TEST_CASE("rates and link layers below a matrix, of ibstat and of ibv_devinfo, are those of its NICs") {
  const auto port = [](const std::string& name) {
    return "CA '" + name +
           "'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: Ethernet\n";
  };
  const ClusterSpec listed = imported(with_nics("mlx5_0", "mlx5_1", port("mlx5_0") + port("mlx5_1")));
  CHECK(listed.nics->rate.bytes_per_second == doctest::Approx(50e9));
  CHECK(listed.nics->transport == "roce");
  CHECK(listed.nics->rate_basis == "stated");
  CHECK_FALSE(opens(listed, "transport: "));
  const auto device = [](const std::string& name) {
    return "hca_id:\t" + name +
           "\n\t\tstate:\t\tPORT_ACTIVE (4)\n\t\tactive_width:\t4X (2)\n"
           "\t\tactive_speed:\t50.0 Gbps (64)\n\t\tlink_layer:\tInfiniBand\n";
  };
  const ClusterSpec verbs = imported(with_nics("mlx5_0", "mlx5_1", device("mlx5_0") + device("mlx5_1")));
  CHECK(verbs.nics->rate.bytes_per_second == doctest::Approx(25e9));
  CHECK(verbs.nics->transport == "infiniband");
}

TEST_CASE("a file of nvidia-smi names its GPU") {
  CHECK(listed_gpu("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n", "x") ==
        "NVIDIA H100 80GB HBM3");
  const std::string table =
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
      "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:10:00.0 Off |                    0 |\n"
      "| N/A   31C    P0             72W /  700W |       0MiB /  81559MiB |      0%      Default |\n"
      "|    0   N/A  N/A      1234      C   python3                          1024MiB |\n";
  CHECK(listed_gpu(table, "x") == "NVIDIA H100 80GB HBM3");
  CHECK(listed_gpu("|   0  A100-SXM-80GB...    Off  | 00000000:07:00.0 Off |  0 |\n", "x") == "");
  CHECK(listed_gpu(kMesh, "x") == "");
  CHECK(error_of([] {
          listed_gpu("GPU 0: NVIDIA A30 (UUID: x)\nGPU 1: NVIDIA L40S (UUID: y)\n", "x");
        }).find("x:2: GPUs of several models: \"NVIDIA A30\" and \"NVIDIA L40S\"") == 0);
}

TEST_CASE("GPUs that a file lists of another model than --gpu names are told") {
  const std::string list = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nGPU 1: NVIDIA H200 (UUID: GPU-2)\n";
  NodeInventory node;
  note_other_gpus(list, find_gpu_model("H100-SXM5-80GB"), node);
  REQUIRE(node.notes.size() == 1);
  CHECK(node.notes[0] == "line 2 lists \"NVIDIA H200\", and all GPUs are taken for H100-SXM5-80GB, as --gpu says");
}

TEST_CASE("GeForce GPUs of the series 40 and 50 do not copy to each other directly") {
  const std::string two = " GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X\n";
  CHECK_FALSE(imported(two, "RTX-4090").pcie.p2p);
  CHECK(opens(imported(two, "RTX-4090"), "no RTX-4090 copy to another GPU directly"));
  CHECK(imported(two, "L40S").pcie.p2p);
  for (const char* model :
       {"RTX-5090", "RTX-4070-TI", "RTX-5060", "RTX 4090", "GeForce RTX 4090", "NVIDIA GeForce RTX 5090"})
    CHECK_FALSE(has_peer_to_peer(model));
  for (const char* model :
       {"RTX-3090", "RTX-4000", "RTX-5000-ADA", "RTX-6000D", "H100-SXM5-80GB", "NVIDIA RTX 4000 Ada Generation"})
    CHECK(has_peer_to_peer(model));
}

TEST_CASE("Azure's Ethernet function is no NIC of the GPUs") {
  CHECK(opens(imported(with_nics("mlx5_ib0", "mlx5_an0")), "accelerated networking are left out: mlx5_an0"));
}

TEST_CASE("a matrix that is none, or not whole, is refused") {
  CHECK(refuses("", "", "no matrix"));
  CHECK(refuses("hello\nworld\n", "", "no matrix"));
  CHECK(refuses(edited(kMesh, "NIC1    SYS   SYS   PXB   NODE  SYS    X\n", ""), "2", "no row NIC1"));
  CHECK(refuses(edited(kMesh, "NODE  SYS    X\n", "\n"), "8", "3 cells for 6 devices"));
  CHECK(refuses(edited(kMesh, "\nNIC1 ", "\nNIC7 "), "8", "not in the header"));
  CHECK(refuses(edited(kMesh, "\nNIC1 ", "\nNIC0 "), "8", "second row"));
  CHECK(refuses(edited(kMesh, "GPU1  GPU2", "GPU1  GPU1"), "2", "twice in the header"));
}

TEST_CASE("cells that contradict each other are refused at their row") {
  CHECK(
      refuses(edited(kMesh, "X    NV4   NV2", "X    NV3   NV2"), "3", "GPU0 to GPU1 is NV3, but GPU1 to GPU0 is NV4"));
  CHECK(refuses(edited(kMesh, "X    NV4   NV2", "X    NV0   NV2"), "3", "NV0"));
  CHECK(refuses(edited(kMesh, "X    NV4   NV2", "X    NVX   NV2"), "3", "NVX"));
  CHECK(refuses(edited(kMesh, "X    NV4   NV2", "NV1  NV4   NV2"), "3", "GPU0 to GPU0 is"));
  CHECK(refuses(edited(kMesh, "X    NV4   NV2", "X     X    NV2"), "3", "diagonal"));
  const std::string nic_link =
      edited(edited(kMesh, "SYS   PIX   SYS   0-15", "SYS   NV1   SYS   0-15"), "NIC0    PIX", "NIC0    NV1");
  CHECK(refuses(nic_link, "3", "NVLinks between GPU0 and NIC0"));
  // One switch for GPU1 and GPU3 joins GPU0 and GPU3, which are SYS, by way of NIC0.
  const std::string torn = edited(edited(kMesh, "GPU1    NV4    X    SYS   NV2", "GPU1    NV4    X    SYS   PIX"),
                                  "GPU3    SYS   NV2", "GPU3    SYS   PIX");
  CHECK(refuses(torn, "3", "third device"));
}

TEST_CASE("a matrix of peer access is called one, and the first GPU may have any number") {
  CHECK(refuses("      GPU0  GPU1\nGPU0  X     OK\nGPU1  OK    X\n", "2",
                "the cell \"OK\" is one of nvidia-smi topo -p2p"));
  CHECK(refuses("      GPU0  GPU1\nGPU0  X     CNS\nGPU1  CNS   X\n", "2", "Paste the matrix of nvidia-smi topo -m"));
  CHECK(refuses("      GPU0  GPU1  Node Affinity\nGPU0  X     MX  0\nGPU1  MX    X   0\n", "2",
                "the cell \"MX\" is none"));
  const std::string later =
      "      GPU6  GPU7  CPU Affinity  NUMA Affinity\nGPU6  X  NV12  0-7  0\nGPU7  NV12  X  0-7  0\n";
  CHECK(looks_like_smi_matrix(later));
  CHECK(imported(later).gpu.count == 2);
  CHECK_FALSE(looks_like_smi_matrix("GPU 0: NVIDIA H200\n\t Link 0: 26.562 GB/s\n"));
}

TEST_CASE("a GPU whose NVLinks are down, beside others on a switch, is named") {
  const auto matrix = [](int without) {
    std::string text = "      GPU0  GPU1  GPU2  GPU3  CPU Affinity  NUMA Affinity\n";
    for (int a = 0; a < 4; ++a) {
      text += "GPU" + std::to_string(a);
      for (int b = 0; b < 4; ++b) text += a == b ? "  X " : a == without || b == without ? "  NODE" : "  NV18";
      text += "  0-55  0\n";
    }
    return text;
  };
  CHECK(imported(matrix(4), "B200-SXM-180GB").nvlink.kind == NvlinkKind::nvswitch);
  CHECK_THROWS_WITH(imported(matrix(2), "B200-SXM-180GB"),
                    doctest::Contains("4: GPU2 has no NVLink to the switch, others have. Its links are down"));
}

TEST_CASE("the printed matrix of every shipped cluster reads back to the same classes") {
  for (const auto& [cluster_name, model] : {std::pair{"dgx1_v100", "V100-SXM2-32GB"},
                                            {"dgx_a100_80gb", "A100-SXM4-80GB"},
                                            {"oci_bm_gpu4_8", "A100-SXM4-40GB"},
                                            {"polaris_a100", "A100-SXM4-40GB"},
                                            {"pcie_rtx6000d", "RTX-6000D"}}) {
    const std::string name = cluster_name;
    CAPTURE(name);
    const ClusterSpec spec = shipped(name);
    const ClusterSpec again = imported(write_smi_matrix(spec), model);
    CHECK(write_smi_matrix(again) == write_smi_matrix(spec));
    CHECK(again.nvlink.pairs == spec.nvlink.pairs);
  }
}

TEST_CASE("NUMA nodes that the machine numbers otherwise are said with the sockets that they became") {
  std::string text = edited(kMesh, "16-31         1  ", "16-31         3  ");
  text = edited(text, "16-31         1  ", "16-31         3  ");
  const auto notes = [](const ClusterSpec& spec) {
    return std::ranges::any_of(spec.open, [](const std::string& note) {
      return note.find("NUMA nodes have other numbers in the model: 3 is socket 1") != std::string::npos;
    });
  };
  CHECK(notes(imported(text)));
  CHECK_FALSE(notes(imported(kMesh)));
}

}  // namespace shardsim::read_smi_matrix_test
