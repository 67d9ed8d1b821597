#include <doctest/doctest.h>

#include "tests/base/edited_text.h"
#include "tests/topology/cluster_files.h"
#include "topology/graph/graph.h"
#include "topology/import/node_inventory.h"

namespace shardsim::read_nccl_xml_test {

using namespace shardsim::testing;

namespace {

// One AMD CPU, one Gen4 x16 switch, two sm80 GPUs with 4 NVLinks between them and one 200 Gbit/s NIC.
constexpr const char* kSmall = R"(<?xml version="1.0"?>
<!-- a comment -->
<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:0a:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:0A:00.0" class="0x030200" vendor="0x10de" device="0x20b0" link_speed="16.0 GT/s PCIe" link_width="0">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0:07:00.0" count="3" tclass="0x030200"/>
          <nvlink target="0000:07:00.0" count="1"/>
        </gpu>
      </pci>
      <pci busid="0000:0c:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
          <net name="mlx5_lag"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

ClusterSpec imported(const std::string& text, ImportOptions options = {}) {
  options.gpu_model_may_be_assumed = true;
  return cluster_of(read_nccl_xml(text, "topo.xml"), options);
}

bool refuses(const std::string& text, const std::string& line, const std::string& what, ImportOptions options = {}) {
  const std::string message = error_of([&] { imported(text, options); });
  const bool found = message.starts_with("topo.xml:" + line + ":") && message.find(what) != std::string::npos &&
                     message.find('\n') == std::string::npos;
  if (!found) MESSAGE("message: ", message);
  return found;
}

bool notes(const ClusterSpec& spec, const std::string& what) {
  for (const std::string& entry : spec.open) {
    if (entry.find(what) != std::string::npos) return true;
  }
  return false;
}

// A dump of `gpus` GPUs, each with its own list of <nvlink>s.
std::string dump_of(const std::vector<std::string>& links) {
  std::string text =
      "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" modelid=\"143\">\n";
  for (std::size_t gpu = 0; gpu < links.size(); ++gpu) {
    text += "<pci busid=\"0000:0" + std::to_string(gpu + 1) +
            ":00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
            std::to_string(gpu) + "\" sm=\"90\" rank=\"" + std::to_string(gpu) + "\">" + links[gpu] + "</gpu></pci>\n";
  }
  return text + "</cpu>\n</system>\n";
}

}  // namespace

// The rates are NCCL's (NVIDIA/nccl src/graph/topo.h and topo.cc): 20 GB/s an NVLink 3, lanes x rate / 80, Mbit/s /
// 8000.
TEST_CASE("a complete dump gives NVLink 80, PCIe 24, NIC 25 GB/s and the class PIX") {
  const ClusterSpec spec = imported(kSmall);
  const Cluster cluster(spec);
  CHECK(spec.gpu.model == "A100-SXM4-40GB");
  CHECK(spec.gpu.count == 2);
  CHECK(spec.pcie.cpu_vendor == "amd");
  CHECK(spec.pcie.sockets == 1);
  CHECK(cluster.path_class(0, 1) == PathClass::nvl);
  CHECK(gbps(cluster.local_route(0, 1).width) == doctest::Approx(80));
  CHECK(gbps(pcie_rate(spec.pcie)) == doctest::Approx(24));
  CHECK(gbps(cluster.links()[cluster.nic_out(0, 0)].rate) == doctest::Approx(25));
  REQUIRE(spec.nics);
  CHECK(spec.nics->shared_by == 2);
  CHECK(spec.nics->transport == "infiniband");
  CHECK(notes(spec, "infiniband is taken from the name and PCI class of mlx5_0"));
  CHECK(spec.nics->rate_basis == "stated");
  CHECK(spec.nics->gpudirect);
  const NodeGraph graph = build_node_graph(spec);
  const auto path = best_path(graph, 0, *find_device(graph, DeviceKind::nic, 0));
  REQUIRE(path);
  CHECK(path->path == PathClass::pix);
  CHECK(gbps(path->width) == doctest::Approx(24));
}

TEST_CASE("NVSwitches become one, whatever their number, and a hidden one counts") {
  const std::string four =
      R"(<nvlink target="0000:c1:00.0" count="5" tclass="0x068000"/><nvlink target="0000:c2:00.0" count="5" tclass="0x068000"/><nvlink target="0000:c3:00.0" count="4" tclass="0x068000"/><nvlink target="0000:c4:00.0" count="4" tclass="0x068000"/>)";
  const ClusterSpec spec = imported(dump_of({four, four}));
  CHECK(spec.nvlink.kind == NvlinkKind::nvswitch);
  CHECK(spec.nvlink.links_per_gpu == 18);
  CHECK(gbps(Cluster(spec).local_route(0, 1).width) == doctest::Approx(370.8));  // 18 x 20.6
  CHECK(gbps(pcie_rate(spec.pcie)) == doctest::Approx(48));
  CHECK(spec.pcie.cpu_model == "Sapphire Rapids");
  const std::string hidden = R"(<nvlink target="fffffff:ff:ff.0" count="18"/>)";
  CHECK(imported(dump_of({hidden, hidden})).nvlink.links_per_gpu == 18);
}

TEST_CASE("GPUs without NVLink keep to PCIe, each below its own slot") {
  const ClusterSpec spec = imported(dump_of({"", "", ""}));
  CHECK(spec.nvlink.kind == NvlinkKind::none);
  CHECK(Cluster(spec).path_class(0, 2) == PathClass::phb);
  CHECK_FALSE(spec.nics);
}

TEST_CASE("a skeleton keeps the PCIe tree and says what is missing") {
  const std::string skeleton = R"(<system version="1">
  <cpu numaid="0" affinity="f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:10:1c.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1d.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1b.0" class="0x020000" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:10:1b.1" class="0x020000" link_speed="8 GT/s" link_width="16"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="f0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:20:1c.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:20:1d.0" class="0x030200" link_speed="8 GT/s" link_width="16"/>
      <pci busid="0000:20:1b.0" class="0x020000" link_speed="8 GT/s" link_width="16"/>
    </pci>
  </cpu>
</system>)";
  const ClusterSpec spec = imported(skeleton);
  CHECK(spec.gpu.count == 4);
  CHECK(spec.pcie.generation == 3);
  CHECK(spec.pcie.sockets == 2);
  REQUIRE(spec.nics);
  CHECK(spec.nics->shared_by == 2);  // two functions of one card are one NIC
  CHECK(gbps(spec.nics->rate) == doctest::Approx(1.25));
  CHECK(spec.nics->rate_basis == "assumed");
  for (const char* what : {"GPU model", "NVLink", "NIC rate", "skeleton"}) {
    CAPTURE(what);
    CHECK(notes(spec, what));
  }
  const Cluster cluster(spec);
  CHECK(cluster.path_class(0, 1) == PathClass::pix);
  CHECK(cluster.path_class(1, 2) == PathClass::sys);
  CHECK(cluster.nic_of(3) == 1);

  ImportOptions options;
  options.gpu_model = "v100-sxm2-32gb";
  options.pcie_generation = 4;
  options.nic_rate = Bandwidth{25e9};
  const ClusterSpec named = imported(skeleton, options);
  CHECK(named.gpu.model == "V100-SXM2-32GB");
  CHECK(named.pcie.generation == 4);
  CHECK(gbps(named.nics->rate) == doctest::Approx(25));
  CHECK_FALSE(notes(named, "GPU model:"));
  CHECK_FALSE(notes(named, "NIC rate"));
  CHECK(named.nics->rate_basis == "stated");
}

TEST_CASE("a rate for NICs that the dump does not list is refused") {
  ImportOptions options;
  options.nic_rate = Bandwidth{25e9};
  CHECK_FALSE(imported(dump_of({"", ""})).nics);
  CHECK(error_of([&] { imported(dump_of({"", ""}), options); }).starts_with("argument --nic: the file lists no NIC"));
}

TEST_CASE("slower NICs are left out, and several hosts count as nodes") {
  const std::string slow =
      "<pci busid=\"0000:0d:00.0\" class=\"0x020000\"><nic><net name=\"eth0\" dev=\"1\" "
      "speed=\"25000\"/></nic></pci>\n    </pci>\n  </cpu>";
  const ClusterSpec spec = imported(edited(kSmall, "</pci>\n  </cpu>", slow));
  CHECK(spec.nics->shared_by == 2);
  CHECK(notes(spec, "eth0"));
  std::string host = kSmall;
  host = host.substr(host.find("  <cpu"), host.find("</system>") - host.find("  <cpu"));
  std::string two = edited(kSmall, "numaid=\"0\"", "numaid=\"0\" host_hash=\"0x1\"");
  two = edited(two, "</system>", edited(host, "numaid=\"0\"", "numaid=\"0\" host_hash=\"0x2\"") + "</system>");
  CHECK(imported(two).nodes == 2);
  CHECK(imported(two).gpu.count == 2);
}

TEST_CASE("a NIC without slot, listed below every CPU, is one NIC") {
  const std::string nic = "<nic><net name=\"eth0\" dev=\"0\" speed=\"10000\" gdr=\"0\"/></nic></cpu>";
  const ClusterSpec spec = imported(edited(dump_of({"", ""}), "</cpu>", nic + "<cpu numaid=\"1\">" + nic));
  REQUIRE(spec.nics);
  CHECK(nics_of_node(spec) == 1);
  CHECK(spec.nics->transport == "tcp");
  CHECK_FALSE(spec.nics->gpudirect);
  CHECK(spec.pcie.sockets == 2);
}

TEST_CASE("Broadcom's two levels are one switch, other switches two") {
  const auto path = [](const std::string& ids) {
    std::string text =
        "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">"
        "<pci busid=\"0000:01:00.0\" class=\"0x060400\" " +
        ids + ">";
    for (const char* bus : {"02", "03"}) {
      text += std::string("<pci busid=\"0000:") + bus + ":00.0\" class=\"0x060400\" " + ids +
              "><pci busid=\"0000:" + bus +
              ":01.0\" class=\"0x030200\" link_speed=\"16 GT/s\"><gpu dev=\"0\" sm=\"80\"/></pci></pci>";
    }
    return Cluster(imported(text + "</pci></cpu></system>")).path_class(0, 1);
  };
  CHECK(path("vendor=\"0x1000\" device=\"0xc010\" subsystem_vendor=\"0x1000\" subsystem_device=\"0xa096\"") ==
        PathClass::pix);
  CHECK(path("vendor=\"0x11f8\" device=\"0x4000\" subsystem_vendor=\"0x11f8\" subsystem_device=\"0xbeef\"") ==
        PathClass::pxb);
}

TEST_CASE("malformed XML is refused at its line") {
  CHECK(refuses("", "1", "no element"));
  CHECK(refuses("hello", "1", "text outside"));
  CHECK(refuses("<system version=\"1\">\n<cpu>\n", "2", "not closed"));
  CHECK(refuses("<system>\n</cpu>", "2", "</system> of line 1"));
  CHECK(refuses("<system>\n<cpu numaid=0/></system>", "2", "not in quotes"));
  CHECK(refuses("<system>\n<cpu numaid=\"0\" numaid=\"1\"/></system>", "2", "twice"));
  CHECK(refuses("<system a=\"&bogus;\"/>", "1", "entity"));
  CHECK(refuses("<system/><system/>", "1", "second root"));
  CHECK(refuses("<!DOCTYPE a [<!ENTITY b \"c\">]><system/>", "1", "DOCTYPE"));
  CHECK(refuses(std::string("<system>\n\0</system>", 19), "2", "no text"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<pci>";
  CHECK(refuses(deep, "1", "deep"));
}

TEST_CASE("another document than a topology, and unknown elements, are refused") {
  CHECK(refuses("<graphs version=\"1\"/>", "1", "graph dump"));
  CHECK(refuses("<html/>", "1", "<html>"));
  CHECK(refuses("<system/>", "1", "without <cpu>"));
  CHECK(refuses(edited(kSmall, "<nic>\n", "<nic>\n<cheese/>\n"), "19", "unknown element <cheese>"));
  CHECK(refuses(edited(kSmall, "<nic>\n", "<nic>\n<xgmi/>\n"), "19", "a link between GPUs of AMD"));
  CHECK(refuses(edited(kSmall, "<nic>\n", "<nic>\n<gpu/>\n"), "19", "<gpu> in <nic>"));
  CHECK(notes(imported(edited(kSmall, "dev=\"1\"", "dev=\"1\" colour=\"red\"")), "gpu.colour"));
  CHECK(refuses("<system><cpu numaid=\"0\"/></system>", "1", "no GPU"));
}

TEST_CASE("a cyclic PCIe tree and a bus id twice are refused at their line") {
  CHECK(refuses(edited(kSmall, "0000:07:00.0", "0000:01:00.0"), "6", "cyclic"));
  CHECK(refuses(edited(kSmall, "0000:0c:00.0", "0000:07:00.0"), "17", "already on line 6"));
  CHECK(refuses(edited(kSmall, "0000:0c:00.0", "elsewhere"), "17", "no PCI bus id"));
  CHECK(refuses(edited(kSmall, "busid=\"0000:0c:00.0\"", ""), "17", "busid"));
  const auto linked = [](const std::string& target) {
    return edited(kSmall, "      <pci busid=\"0000:07",
                  "      <pcilink target=\"" + target + "\"/>\n<pci busid=\"0000:07");
  };
  CHECK(refuses(linked("0000:01:00.0"), "6", "cyclic"));
  CHECK(refuses(linked("0000:ee:00.0"), "6", "not in the file"));
  CHECK(notes(imported(linked("0000:0c:00.0")), "pcilink"));
}

TEST_CASE("NVLinks whose other end the file does not have are left out with a note, as NCCL passes over them") {
  const auto led = [](const std::string& first, const std::string& second) {
    const auto link = [](const std::string& to) {
      return "<nvlink target=\"" + to + "\" count=\"4\" tclass=\"0x030200\"/>";
    };
    return imported(dump_of({link(first), link(second)}));
  };
  const ClusterSpec outside = led("0000:0b:00.0", "0000:0e:00.0");
  CHECK(outside.nvlink.kind == NvlinkKind::none);
  CHECK(notes(outside, "0000:0b:00.0"));
  CHECK(notes(led("0000:01:00.0", "0000:02:00.0"), "to itself"));
}

TEST_CASE("GPUs of other vendors are named and refused") {
  CHECK(refuses(edited(kSmall, "vendor=\"0x10de\"", "vendor=\"0x1d94\""), "6", "GPU of Hygon"));
}

TEST_CASE("a card whose PCI device is not in the catalogue is not taken for another card") {
  const std::string known = edited(edited(kSmall, "0x20b0", "0x2236"), "0x20b0", "0x2236");
  CHECK(notes(imported(known), "PCI device 0x2236 is not in the catalogue, A100-SXM4-40GB is assumed"));
  std::string card = known;
  for (const char* link : {"<nvlink target=\"0000:0a:00.0\" count=\"4\" tclass=\"0x030200\"/>",
                           "<nvlink target=\"0:07:00.0\" count=\"3\" tclass=\"0x030200\"/>",
                           "<nvlink target=\"0000:07:00.0\" count=\"1\"/>"})
    card = edited(card, link, "");
  CHECK(refuses(card, "7", "GPU 0000:07:00.0 is PCI device 0x2236, a card that is not in the catalogue"));
  ImportOptions named;
  named.gpu_model = "A30";
  CHECK(imported(card, named).gpu.model == "A30");
  CHECK(refuses(edited(known, "0x2236", "0x2230"), "12", "of different models"));
}

TEST_CASE("a vendor of CPUs of which nothing is known is named") {
  CHECK(notes(imported(edited(kSmall, "AuthenticAMD", "HygonGenuine")), "CPU vendor: HygonGenuine is not known, amd"));
}

TEST_CASE("NVLinks that no machine has are refused at their line") {
  const auto link = [](const std::string& from, const std::string& to) { return edited(kSmall, from, to); };
  CHECK(refuses(link("count=\"4\"", "count=\"0\""), "8", "count of 0"));
  CHECK(refuses(link("count=\"4\"", "count=\"-1\""), "8", "count of -1"));
  CHECK(refuses(link("count=\"4\"", "count=\"many\""), "8", "is not a whole number"));
  CHECK(refuses(link("count=\"4\"", ""), "8", "'count'"));
  CHECK(refuses(link("count=\"4\"", "count=\"5\""), "7", "5 NVLinks to GPU 1, which has 4 back"));
  const std::string many = edited(link("count=\"4\"", "count=\"14\""), "count=\"3\"", "count=\"13\"");
  CHECK(refuses(many, "7", "14 NVLinks, the model A100-SXM4-40GB has 12"));
  const std::string to_switch = R"(<nvlink target="0000:c1:00.0" count="18" tclass="0x068000"/>)";
  CHECK(refuses(dump_of({to_switch, ""}), "4", "no NVLink to the switch"));
}

TEST_CASE("impossible attributes and contradictions are refused at their line") {
  CHECK(
      refuses(edited(kSmall, "link_width=\"16\">\n        <gpu", "link_width=\"12\">\n        <gpu"), "6", "12 lanes"));
  CHECK(refuses(edited(kSmall, "speed=\"200000\"", "speed=\"fast\""), "19", "is not a whole number"));
  CHECK(refuses(edited(kSmall, "speed=\"200000\"", "speed=\"99999999999\""), "19", "Mbit/s"));
  CHECK(refuses(edited(kSmall, "rank=\"1\"", "rank=\"0\""), "12", "rank 0 is on two GPUs"));
  CHECK(refuses(edited(kSmall, "sm=\"80\"", "sm=\"0\""), "7", "no compute capability"));
  CHECK(refuses(edited(kSmall, "sm=\"80\"", "sm=\"90\""), "12", "different models"));
  ImportOptions options;
  options.gpu_model = "H100-SXM5-80GB";
  CHECK(refuses(kSmall, "7", "has compute capability 8.0, the model H100-SXM5-80GB has 9.0", options));
  options.gpu_model = "A1000";
  CHECK(error_of([&] { imported(kSmall, options); }).find("--gpu") != std::string::npos);
  std::string idle = kSmall;
  for (std::size_t at; (at = idle.find("16.0 GT/s")) != std::string::npos;) idle.replace(at, 9, "2.5 GT/s");
  CHECK(refuses(idle, "7", "--pcie"));
}

// Gen4 x8 carries what Gen3 x16 does, so the same NIC behind either has the same times: where its slot is like those of
// the GPUs the slot bounds it, and its own rate stays.
TEST_CASE("a NIC in a slot like those of the GPUs keeps its rate, whatever the lanes") {
  const auto slots = [](std::string text, const std::string& speed, const std::string& width) {
    for (std::size_t at = 0; (at = text.find("16.0 GT/s PCIe", at)) != std::string::npos; at += speed.size())
      text.replace(at, std::string("16.0 GT/s PCIe").size(), speed);
    for (const char* other : {"link_width=\"16\"", "link_width=\"0\""})
      for (std::size_t at = 0; (at = text.find(other, at)) != std::string::npos; at += 10)
        text.replace(at, std::string(other).size(), "link_width=\"" + width + "\"");
    return text;
  };
  const ClusterSpec wide = imported(slots(kSmall, "8.0 GT/s PCIe", "16"));
  const ClusterSpec narrow = imported(slots(kSmall, "16.0 GT/s PCIe", "8"));
  CHECK(narrow.pcie.lanes == 8);
  CHECK(notes(wide, "PCIe generation: the file says 3, and the model"));
  CHECK_FALSE(notes(narrow, "PCIe generation: the file says"));
  CHECK(pcie_line_rate(narrow.pcie) == pcie_line_rate(wide.pcie));
  CHECK(narrow.nics->rate == wide.nics->rate);
  CHECK(narrow.nics->rate_basis == wide.nics->rate_basis);
  CHECK_FALSE(notes(narrow, "less than its"));
}

}  // namespace shardsim::read_nccl_xml_test
