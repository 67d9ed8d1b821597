#include "validate/comparison/operation_role.h"

namespace shardsim {
namespace {

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string role_of_dense(std::string_view name) {
  if (name.starts_with("dense_forward")) return "dense forward";
  if (name.starts_with("dense_backward")) return "dense backward";
  if (name.starts_with("dense_optimizer")) return "dense optimizer";
  if (name == "h2d_copy") return "copies of inputs";
  if (name == "copy" || name == "memset") return "other copies";
  return name == "dense" ? "" : "passes over ids and vectors";
}

}  // namespace

std::string operation_role(std::string_view name, std::string_view op_class) {
  if (op_class == "lookup") return "lookups";
  if (op_class == "update") return "updates";
  if (op_class == "dense") return role_of_dense(name);
  if (op_class == "all_to_all" || op_class == "all_to_all_v") {
    if (name.starts_with("input_")) return "exchange of ids";
    return says(name, "grad") ? "exchange of gradients" : "exchange of vectors";
  }
  return "";
}

}  // namespace shardsim
