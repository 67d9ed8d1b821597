#include "sim/timeline/kineto/kineto_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

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

// The kernel's own name, without its return type, its parameters and its template arguments.
std::string_view plain_name(std::string_view kernel) {
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  return kernel.substr(0, kernel.find_first_of("<("));
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

TraceElement trace_element(std::string_view torch_name) {
  const std::array<std::pair<std::string_view, TraceElement>, 9> kTypes = {{{"Float", {"fp32", 4}},
                                                                            {"Half", {"fp16", 2}},
                                                                            {"BFloat16", {"bf16", 2}},
                                                                            {"Char", {"int8", 1}},
                                                                            {"Int", {"int32", 4}},
                                                                            {"Long", {"int64", 8}},
                                                                            {"Double", {"", 8}},
                                                                            {"Short", {"", 2}},
                                                                            {"Byte", {"", 1}}}};
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) { return type.first == torch_name; });
  return found == kTypes.end() ? TraceElement{} : found->second;
}

}  // namespace shardsim
