#include "program/timeline/kineto/kineto_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "program/timeline/named_times.h"

namespace shardsim {
namespace {

// Lower case, letters only: "_allgather_base", "AllGather" and "all_gather" look alike.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The kernel's own name, without its return type, its parameters and its template arguments. The parentheses of an
// anonymous namespace before it, as in most kernels of PyTorch, do not begin the parameters.
std::string_view plain_name(std::string_view kernel) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  std::size_t end = kernel.find_first_of("<(");
  while (end != std::string_view::npos && kernel.substr(end).starts_with(kAnonymous)) {
    kernel.remove_prefix(end + kAnonymous.size());
    end = kernel.find_first_of("<(");
  }
  return kernel.substr(0, end);
}

constexpr std::array<TraceElement, 9> kElements = {{{"fp32", "Float", "f32", 4},
                                                    {"fp16", "Half", "f16", 2},
                                                    {"bf16", "BFloat16", "bf16", 2},
                                                    {"int8", "Char", "i8", 1},
                                                    {"int32", "Int", "i32", 4},
                                                    {"int64", "Long", "i64", 8},
                                                    {"", "Double", "f64", 8},
                                                    {"", "Short", "i16", 2},
                                                    {"", "Byte", "u8", 1}}};

TraceElement element_named(std::string_view name, std::string_view TraceElement::*known_as) {
  const auto* found = std::ranges::find(kElements, name, known_as);
  return found == kElements.end() ? kElements.back() : *found;
}

struct CollectiveNames {
  std::string_view op_class, torch, kernel;
  bool reduces = false;
  bool has_algorithm = false;
};

CollectiveNames collective_names(std::string_view op_class) {
  constexpr std::array<CollectiveNames, 7> kNames = {
      {{"all_gather", "_allgather_base", "AllGather", false, true},
       {"all_reduce", "allreduce", "AllReduce", true, true},
       {"all_to_all", "all_to_allv", "SendRecv", false, false},
       {"all_to_all_v", "all_to_allv", "SendRecv", false, false},
       {"broadcast", "broadcast", "Broadcast", false, true},
       {"reduce_scatter", "_reduce_scatter_base", "ReduceScatter", true, true},
       {"send_recv", "send", "SendRecv", false, false}}};
  return *std::find_if(kNames.begin(), kNames.end(), [&](const auto& names) { return names.op_class == op_class; });
}

// "Ring" becomes RING, "CollnetDirect" COLLNET_DIRECT, "NVLSTree" NVLS_TREE.
std::string upper(std::string_view name) {
  const auto is = [](int (*kind)(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool after_word = i > 0 && is(std::islower, name[i - 1]);
    const bool before_word =
        i > 0 && i + 1 < name.size() && is(std::isupper, name[i - 1]) && is(std::islower, name[i + 1]);
    if (is(std::isupper, name[i]) && (after_word || before_word)) result += '_';
    result += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  }
  return result;
}

// The first word that fits decides; words of particular kernels come before those of templates that many share.
constexpr std::array<std::pair<std::string_view, std::string_view>, 60> kWordsOfKinds = {
    {{"flash", "attention"},
     {"fmha", "attention"},
     {"attention", "attention"},
     {"attn", "attention"},
     {"memefficient", "attention"},
     {"multitensorapply", "optimizer"},
     {"fusedadam", "optimizer"},
     {"adagrad", "optimizer"},
     {"catarray", "concatenation"},
     {"chunkcat", "concatenation"},
     {"splitwithsizes", "concatenation"},
     {"layernorm", "normalization"},
     {"gammabeta", "normalization"},
     {"rowwisemoments", "normalization"},
     {"batchnorm", "normalization"},
     {"groupnorm", "normalization"},
     {"rmsnorm", "normalization"},
     {"softmax", "normalization"},
     {"bnfw", "normalization"},
     {"bnbw", "normalization"},
     {"gemm", "products"},
     {"gemv", "products"},
     {"cutlass", "products"},
     {"cublas", "products"},
     {"nvjet", "products"},
     {"splitkreduce", "products"},
     {"globalkernel", "products"},
     {"xmma", "products"},
     {"converttensor", "element-wise"},
     {"conv", "products"},
     {"wgrad", "products"},
     {"dgrad", "products"},
     {"dotkernel", "products"},
     {"radixsort", "sort and scan"},
     {"scan", "sort and scan"},
     {"sort", "sort and scan"},
     {"deviceselect", "sort and scan"},
     {"reducebykey", "sort and scan"},
     {"runlength", "sort and scan"},
     {"compactinit", "sort and scan"},
     {"uniquebykey", "sort and scan"},
     {"cub", "sort and scan"},
     {"thrust", "sort and scan"},
     {"distribution", "random"},
     {"dropout", "random"},
     {"philox", "random"},
     {"permute", "permutation"},
     {"transpose", "permutation"},
     {"boundscheck", "permutation"},
     {"bucketize", "permutation"},
     {"offsetsrange", "index"},
     {"quantize", "element-wise"},
     {"hfp", "element-wise"},
     {"index", "index"},
     {"gather", "index"},
     {"scatter", "index"},
     {"reduce", "reductions"},
     {"elementwise", "element-wise"},
     {"triton", "element-wise"},
     {"copy", "element-wise"}}};

// The name of a library is no word of a product.
std::string own_letters(std::string_view name) {
  constexpr std::string_view kLibrary = "fbgemm";
  std::string letters = letters_of(name);
  for (std::size_t at = letters.find(kLibrary); at != std::string::npos; at = letters.find(kLibrary, at))
    letters.erase(at, kLibrary.size());
  return letters;
}

}  // namespace

bool is_communication_kernel(std::string_view kernel) {
  const std::string_view name = plain_name(kernel);
  return name.starts_with("nccl") || name.starts_with("rccl") || has(name, "ncclKernel") || has(name, "ncclDevKernel");
}

std::string collective_class(std::string_view name) {
  // reduce_scatter before the rest: its kernels and coalesced forms hold other words too.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWordsOfKernels = {
      {{"reducescatter", "reduce_scatter"},
       {"allreduce", "all_reduce"},
       {"allgather", "all_gather"},
       {"alltoall", "all_to_all"},
       {"sendrecv", "all_to_all"},
       {"broadcast", "broadcast"},
       {"barrier", "all_reduce"},
       {"send", "send_recv"},
       {"recv", "send_recv"}}};
  const std::string letters = letters_of(plain_name(name));
  for (const auto& [word, op_class] : kWordsOfKernels)
    if (has(letters, word)) return std::string(op_class);
  return "";
}

std::string compute_class(std::string_view kernel) {
  const std::string letters = letters_of(plain_name(kernel));
  if (!has(letters, "embedding")) return has(letters, "linearizeindex") ? "update" : "dense";
  if (has(letters, "backward") || has(letters, "grad") || has(letters, "optimizer")) return "update";
  return has(letters, "forward") || has(letters, "updateoutput") ? "lookup" : "dense";
}

std::string_view kernel_kind(std::string_view kernel) {
  for (const std::string& text : {own_letters(plain_name(kernel)), own_letters(kernel)})
    for (const auto& [word, kind] : kWordsOfKinds)
      if (has(text, word)) return kind;
  return "";
}

TraceElement element_of_torch(std::string_view torch_name) {
  return element_named(torch_name, &TraceElement::torch);
}

TraceElement element_of_dtype(std::string_view dtype) {
  return dtype.empty() ? kElements.back() : element_named(dtype, &TraceElement::dtype);
}

std::string_view torch_collective_name(std::string_view op_class) {
  return collective_names(op_class).torch;
}

std::string kernel_name(const Timeline::OpInfo& op) {
  if (!is_communication(op.op_class)) return op.name;
  const CollectiveNames names = collective_names(op.op_class);
  std::string name = fmt::format("ncclDevKernel_{}", names.kernel);
  if (names.reduces) name += fmt::format("_Sum_{}", element_of_dtype(op.dtype).kernel);
  if (!names.has_algorithm) return name;
  return name + "_" + upper(op.algorithm.empty() ? "ring" : op.algorithm) + "_" +
         upper(op.protocol.empty() ? "LL" : op.protocol);
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace shardsim
