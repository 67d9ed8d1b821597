#include "topology/spec/gpu_models.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr std::string_view kV100 = R"({fp64: "7.8 TFLOP/s", fp32: "15.7 TFLOP/s", fp16: "125 TFLOP/s"})";
constexpr std::string_view kA100 =
    R"({fp64: "9.7 TFLOP/s", fp32: "19.5 TFLOP/s", tf32: "156 TFLOP/s", fp16: "312 TFLOP/s", bf16: "312 TFLOP/s"})";
constexpr std::string_view kHopper =
    R"({fp64: "34 TFLOP/s", fp32: "67 TFLOP/s", tf32: "494 TFLOP/s", fp16: "989 TFLOP/s", bf16: "989 TFLOP/s", fp8: "1979 TFLOP/s"})";

constexpr std::string_view kBlackwell =
    R"({fp64: "37 TFLOP/s", fp32: "75 TFLOP/s", tf32: "1125 TFLOP/s", fp16: "2250 TFLOP/s", bf16: "2250 TFLOP/s", fp8: "4500 TFLOP/s"})";
constexpr std::string_view kUltra =  // Blackwell Ultra on HGX boards: hardly any fp64
    R"({fp64: "1.2 TFLOP/s", fp32: "75 TFLOP/s", tf32: "1125 TFLOP/s", fp16: "2250 TFLOP/s", bf16: "2250 TFLOP/s", fp8: "4500 TFLOP/s"})";
constexpr std::string_view kGraceBlackwell =
    R"({fp64: "40 TFLOP/s", fp32: "80 TFLOP/s", tf32: "1250 TFLOP/s", fp16: "2500 TFLOP/s", bf16: "2500 TFLOP/s", fp8: "5000 TFLOP/s"})";
constexpr std::string_view kGraceUltra =
    R"({fp64: "1.3 TFLOP/s", fp32: "80 TFLOP/s", tf32: "1250 TFLOP/s", fp16: "2500 TFLOP/s", bf16: "2500 TFLOP/s", fp8: "5000 TFLOP/s"})";
constexpr std::string_view kHopperPcie =
    R"({fp64: "26 TFLOP/s", fp32: "51 TFLOP/s", tf32: "378 TFLOP/s", fp16: "756 TFLOP/s", bf16: "756 TFLOP/s", fp8: "1513 TFLOP/s"})";
constexpr std::string_view kHopperNvl =
    R"({fp64: "30 TFLOP/s", fp32: "60 TFLOP/s", tf32: "418 TFLOP/s", fp16: "836 TFLOP/s", bf16: "836 TFLOP/s", fp8: "1671 TFLOP/s"})";
constexpr std::string_view kA30 =
    R"({fp64: "5.2 TFLOP/s", fp32: "10.3 TFLOP/s", tf32: "82 TFLOP/s", fp16: "165 TFLOP/s", bf16: "165 TFLOP/s"})";
constexpr std::string_view kA40 =
    R"({fp32: "37.4 TFLOP/s", tf32: "74.8 TFLOP/s", fp16: "149.7 TFLOP/s", bf16: "149.7 TFLOP/s"})";
constexpr std::string_view kL40 =
    R"({fp32: "90.5 TFLOP/s", tf32: "90.5 TFLOP/s", fp16: "181 TFLOP/s", bf16: "181 TFLOP/s"})";
// Table 9 of NVIDIA's white paper on GA102, and the data sheet of the A10G.
constexpr std::string_view k3090 =
    R"({fp32: "35.6 TFLOP/s", tf32: "35.6 TFLOP/s", fp16: "71 TFLOP/s", bf16: "71 TFLOP/s"})";
constexpr std::string_view kA10g =
    R"({fp32: "31 TFLOP/s", tf32: "35 TFLOP/s", fp16: "70 TFLOP/s", bf16: "70 TFLOP/s"})";
constexpr std::string_view kL40s =
    R"({fp32: "91.6 TFLOP/s", tf32: "183 TFLOP/s", fp16: "362 TFLOP/s", bf16: "362 TFLOP/s"})";
constexpr std::string_view kH20 =
    R"({fp64: "1 TFLOP/s", fp32: "44 TFLOP/s", tf32: "74 TFLOP/s", fp16: "148 TFLOP/s", bf16: "148 TFLOP/s", fp8: "296 TFLOP/s"})";
constexpr std::string_view kH800 =  // H100 with hardly any fp64
    R"({fp64: "1 TFLOP/s", fp32: "67 TFLOP/s", tf32: "494 TFLOP/s", fp16: "989 TFLOP/s", bf16: "989 TFLOP/s", fp8: "1979 TFLOP/s"})";
constexpr std::string_view k4090 =
    R"({fp32: "82.6 TFLOP/s", tf32: "82.6 TFLOP/s", fp16: "165 TFLOP/s", bf16: "165 TFLOP/s"})";
constexpr std::string_view k5090 =
    R"({fp32: "104.8 TFLOP/s", tf32: "104.8 TFLOP/s", fp16: "209.5 TFLOP/s", bf16: "209.5 TFLOP/s"})";
constexpr std::string_view kL4 =
    R"({fp32: "30.3 TFLOP/s", tf32: "60 TFLOP/s", fp16: "121 TFLOP/s", bf16: "121 TFLOP/s"})";
constexpr std::string_view kT4 = R"({fp32: "8.1 TFLOP/s", fp16: "65 TFLOP/s"})";
// Of GB10 NVIDIA states 1 PFLOP/s of sparse fp4, which is 500 dense, 250 of fp8 and 125 of bf16: four times fp32, as on
// the RTX PRO 6000.
constexpr std::string_view kGb10 =
    R"({fp32: "31 TFLOP/s", tf32: "62.5 TFLOP/s", fp16: "125 TFLOP/s", bf16: "125 TFLOP/s", fp8: "250 TFLOP/s"})";
// With sums in fp32, which cards for work do not slow down as GeForce does; the server edition has a lower clock, so
// its rates are lower by as much as that of fp32.
constexpr std::string_view kPro6000 =
    R"({fp32: "125 TFLOP/s", tf32: "251 TFLOP/s", fp16: "503 TFLOP/s", bf16: "503 TFLOP/s", fp8: "1007 TFLOP/s"})";
constexpr std::string_view kPro6000Server =
    R"({fp32: "120 TFLOP/s", tf32: "240 TFLOP/s", fp16: "480 TFLOP/s", bf16: "480 TFLOP/s", fp8: "960 TFLOP/s"})";
// Made for where cards with fast tensor cores may not be sold: nobody states their rates.
constexpr std::string_view k6000d = R"({fp32: "104 TFLOP/s"})";

// Names that nvidia-smi prints and that are not the catalogue's even without the vendor, in the form of plain_name().
struct PrintedName {
  std::string_view printed, model;
};
constexpr std::array<PrintedName, 17> kPrintedNames = {
    {{"A100-80GB-PCIE", "A100-PCIE-80GB"},
     {"A100-PG509-200", "A100-SXM4-40GB"},
     {"B200", "B200-SXM-180GB"},
     {"B300", "B300-SXM-288GB"},
     {"B300-SXM6-AC", "B300-SXM-288GB"},
     {"GB200", "GB200-186GB"},
     {"GB300", "GB300-288GB"},
     {"GH200-120GB", "GH200-96GB"},
     {"GH200-480GB", "GH200-96GB"},
     {"H100-80GB-HBM3", "H100-SXM5-80GB"},
     {"H100-NVL", "H100-NVL-94GB"},
     {"H100-PCIE", "H100-PCIE-80GB"},
     {"H200", "H200-SXM5-141GB"},
     {"H200-NVL", "H200-NVL-141GB"},
     {"RTX-PRO-6000-BLACKWELL-SERVER-EDITION", "RTX-PRO-6000-SERVER"},
     {"RTX-PRO-6000-BLACKWELL-WORKSTATION-EDITION", "RTX-PRO-6000"},
     {"V100-SXM3-32GB-H", "V100-SXM3-32GB"}}};

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// "NVIDIA GeForce RTX 4090" as the catalogue writes it: RTX-4090.
std::string plain_name(std::string_view name) {
  std::string plain = upper(name);
  std::ranges::replace(plain, ' ', '-');
  for (const std::string_view vendor : {"NVIDIA-", "TESLA-", "GEFORCE-"})
    if (plain.starts_with(vendor)) plain.erase(0, vendor.size());
  return plain;
}

// The catalogue's name of what nvidia-smi prints.
std::string model_name(std::string_view printed) {
  const std::string plain = plain_name(printed);
  const auto found = std::ranges::find(kPrintedNames, plain, &PrintedName::printed);
  return found == kPrintedNames.end() ? plain : upper(found->model);
}

std::vector<std::string> words_in_capitals(std::string_view name) {
  std::string capitals(name);
  std::ranges::transform(capitals, capitals.begin(), [](unsigned char c) {
    return c == ' ' || c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return split(capitals, '_');
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

std::string vendor_of_word(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, const char*>, 10> kBeginnings = {{{"RADEON", "AMD"},
                                                                                     {"INSTINCT", "AMD"},
                                                                                     {"GFX", "AMD"},
                                                                                     {"HYGON", "Hygon"},
                                                                                     {"GAUDI", "Habana"},
                                                                                     {"MTHREADS", "Moore Threads"},
                                                                                     {"MOORE", "Moore Threads"},
                                                                                     {"ASCEND", "Huawei"},
                                                                                     {"BIREN", "Biren"},
                                                                                     {"METAX", "MetaX"}}};
  constexpr std::array<std::pair<std::string_view, const char*>, 6> kWords = {
      {{"AMD", "AMD"}, {"INTEL", "Intel"}, {"DCU", "Hygon"}, {"K100", "Hygon"}, {"Z100", "Hygon"}, {"Z100L", "Hygon"}}};
  for (const auto& [beginning, vendor] : kBeginnings)
    if (word.starts_with(beginning)) return vendor;
  for (const auto& [whole, vendor] : kWords)
    if (word == whole) return vendor;
  return word.size() > 3 && word.starts_with("MI") && begins_with_digit(word.substr(2)) ? "AMD" : "";
}

}  // namespace

// NVIDIA's data sheets of each product; memory as nvidia-smi shows it, with ECC on where it takes a part: what a job
// gets is no round size in GB nor in GiB (modal-labs/modal-client#2797 for A10G, L40S and older ones,
// akash-network/provider-configs#99 for L40S, NVIDIA/TensorRT-LLM#10278; A40, L40, GH200, GB200, B300 and GB300 as the
// outputs agree that are found in public repositories); device ids of the public PCI ID repository (pci-ids.ucw.cz).
std::span<const GpuModel> gpu_models() {
  static const std::vector<GpuModel> kModels = {
      {"V100-SXM2-16GB", 70, "16 GiB", "900 GB/s", "6 MiB", 80, 6, 3, kV100, {"0x1db1"}},
      {"V100-SXM2-32GB", 70, "32 GiB", "900 GB/s", "6 MiB", 80, 6, 3, kV100, {"0x1db5"}},
      {"V100-SXM3-32GB", 70, "32 GiB", "900 GB/s", "6 MiB", 80, 6, 3, kV100, {"0x1db8"}},
      {"A100-SXM4-40GB", 80, "40 GiB", "1555 GB/s", "40 MiB", 108, 12, 4, kA100, {"0x20b0"}},
      {"A100-SXM4-80GB", 80, "80 GiB", "2039 GB/s", "40 MiB", 108, 12, 4, kA100, {"0x20b2"}},
      {"A100-PCIE-40GB", 80, "40 GiB", "1555 GB/s", "40 MiB", 108, 12, 4, kA100, {"0x20f1"}},
      {"A100-PCIE-80GB", 80, "80 GiB", "1935 GB/s", "40 MiB", 108, 12, 4, kA100, {"0x20b5"}},
      {"A30", 80, "24 GiB", "933 GB/s", "24 MiB", 56, 4, 4, kA30, {"0x20b7"}},
      {"RTX-3090", 86, "24 GiB", "936 GB/s", "6 MiB", 82, 4, 4, k3090, {"0x2204"}},
      {"A10G", 86, "23028 MiB", "600 GB/s", "6 MiB", 80, 0, 4, kA10g, {"0x2237"}},
      {"A40", 86, "46068 MiB", "696 GB/s", "6 MiB", 84, 4, 4, kA40, {"0x2235"}},
      {"L40S", 89, "46068 MiB", "864 GB/s", "96 MiB", 142, 0, 4, kL40s, {"0x26b9"}},
      {"L40", 89, "46068 MiB", "864 GB/s", "96 MiB", 142, 0, 4, kL40, {"0x26b5"}},
      {"RTX-6000D", 120, "84 GB", "1568 GB/s", "0 B", 156, 0, 5, k6000d},
      {"H100-SXM5-80GB", 90, "81559 MiB", "3350 GB/s", "50 MiB", 132, 18, 5, kHopper, {"0x2330"}},
      {"H200-SXM5-141GB", 90, "143771 MiB", "4800 GB/s", "50 MiB", 132, 18, 5, kHopper, {"0x2335"}},
      {"H100-PCIE-80GB", 90, "81559 MiB", "2039 GB/s", "50 MiB", 114, 12, 5, kHopperPcie, {"0x2331"}},
      {"H200-NVL-141GB", 90, "143771 MiB", "4800 GB/s", "50 MiB", 132, 18, 5, kHopperNvl, {"0x233b"}},
      {"GH200-96GB", 90, "97871 MiB", "4000 GB/s", "50 MiB", 132, 18, 5, kHopper, {"0x2342"}},
      {"B200-SXM-180GB", 100, "183359 MiB", "8000 GB/s", "126 MiB", 148, 18, 5, kBlackwell, {"0x2901"}},
      {"B300-SXM-288GB", 103, "275040 MiB", "8000 GB/s", "126 MiB", 148, 18, 6, kUltra, {"0x3182"}},
      {"GB200-186GB", 100, "189471 MiB", "8000 GB/s", "126 MiB", 148, 18, 5, kGraceBlackwell, {"0x2941"}},
      {"GB300-288GB", 103, "284208 MiB", "8000 GB/s", "126 MiB", 160, 18, 6, kGraceUltra, {"0x31c2"}},
      // Behind the usual model of their compute capability, which a file that names none is taken to have.
      {"A800-SXM4-80GB", 80, "80 GiB", "2039 GB/s", "40 MiB", 108, 8, 4, kA100, {"0x20f3"}},
      {"H100-NVL-94GB", 90, "95830 MiB", "3938 GB/s", "50 MiB", 132, 12, 5, kHopperNvl, {"0x2321"}},
      {"H20", 90, "97871 MiB", "4000 GB/s", "60 MiB", 78, 18, 5, kH20, {"0x2329"}},
      {"H20-3e", 90, "143771 MiB", "4800 GB/s", "60 MiB", 78, 18, 5, kH20, {"0x232c"}},
      {"H800", 90, "81559 MiB", "3350 GB/s", "50 MiB", 132, 8, 5, kH800, {"0x2324"}},
      {"L4", 89, "23034 MiB", "300 GB/s", "48 MiB", 58, 0, 4, kL4, {"0x27b8"}},
      {"RTX-4090", 89, "24564 MiB", "1008 GB/s", "72 MiB", 128, 0, 4, k4090, {"0x2684"}},
      {"RTX-5090", 120, "32607 MiB", "1792 GB/s", "96 MiB", 170, 0, 5, k5090, {"0x2b85"}},
      {"RTX-PRO-6000", 120, "97887 MiB", "1792 GB/s", "128 MiB", 188, 0, 5, kPro6000, {"0x2bb1"}},
      {"RTX-PRO-6000-SERVER", 120, "97887 MiB", "1597 GB/s", "128 MiB", 188, 0, 5, kPro6000Server, {"0x2bb5"}},
      {"T4", 75, "15360 MiB", "320 GB/s", "4 MiB", 40, 0, 3, kT4, {"0x1eb8"}},
      {"GB10", 121, "128 GB", "273 GB/s", "24 MiB", 48, 0, 5, kGb10, {"0x2e12"}},
  };
  return kModels;
}

std::string gpu_product_of(std::string_view model) {
  constexpr std::string_view kBetween = "- ", kDigits = "0123456789";
  const std::size_t digit = model.find_first_of(kDigits);
  const std::size_t end = model.find_first_of(kBetween, digit == std::string_view::npos ? 0 : digit);
  return std::string(model.substr(0, end));
}

const GpuModel* known_gpu_model(std::string_view name) {
  const std::string wanted = model_name(name);
  const auto found =
      std::ranges::find_if(gpu_models(), [&](const GpuModel& model) { return upper(model.name) == wanted; });
  return found == gpu_models().end() ? nullptr : &*found;
}

const GpuModel& find_gpu_model(const std::string& name) {
  if (const GpuModel* const model = known_gpu_model(name)) return *model;
  std::vector<std::string> known;
  for (const GpuModel& model : gpu_models()) known.emplace_back(model.name);
  refuse_foreign_gpu(name, "argument --gpu");
  throw input_error(
      {"argument --gpu"}, "unknown GPU model " + excerpt(name),
      known_names_hint(model_name(name), known) + " For another one, add --gpu-like with the nearest of them");
}

const GpuModel* gpu_model_of_pci_id(std::string_view device) {
  const auto has_id = [&](const GpuModel& model) { return std::ranges::count(model.pci_ids, device) > 0; };
  const auto found = std::ranges::find_if(gpu_models(), has_id);
  return found == gpu_models().end() ? nullptr : &*found;
}

bool has_grace(std::string_view model) {
  return model.starts_with("GB2") || model.starts_with("GB3") || model.starts_with("GH");
}

bool has_nvlink_board(std::string_view model) {
  return model.find("SXM") != std::string_view::npos || model.starts_with("GB2") || model.starts_with("GB3") ||
         model == "H800" || model == "H20" || model == "H20-3e";
}

bool lacks_nvlink(const ClusterSpec& spec) {
  return spec.gpu.count > 1 && spec.nvlink.kind == NvlinkKind::none && spec.device != "cpu" &&
         has_nvlink_board(spec.gpu.model);
}

const GpuModel* gpu_model_of_capability(int capability) {
  const auto found = std::ranges::find(gpu_models(), capability, &GpuModel::capability);
  return found == gpu_models().end() ? nullptr : &*found;
}

// RTX-4050 to RTX-4090 and RTX-5050 to RTX-5090, with whatever follows ("RTX-4070-Ti"); RTX-4000 and RTX-5000 are
// products for workstations.
bool has_peer_to_peer(std::string_view model) {
  constexpr std::string_view kSeries = "RTX-";
  const std::string plain = plain_name(model);
  if (!plain.starts_with(kSeries) || plain.size() < kSeries.size() + 4) return true;
  const std::string number = plain.substr(kSeries.size(), 4);
  const bool is_series = number.starts_with("40") || number.starts_with("50");
  return !is_series || number[2] < '5' || number[3] != '0';
}

std::string foreign_gpu_vendor(std::string_view name) {
  for (const std::string& word : words_in_capitals(name))
    if (std::string vendor = vendor_of_word(word); !vendor.empty()) return vendor;
  return "";
}

void refuse_foreign_gpu(const std::string& name, const std::string& option) {
  const std::string vendor = foreign_gpu_vendor(name);
  if (!vendor.empty())
    throw input_error({option}, excerpt(name) + " is a GPU of " + vendor, "Only GPUs of NVIDIA are modelled");
}

}  // namespace shardsim
