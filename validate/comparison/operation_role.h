#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// Tells what an operation does in an iteration, in words, by its class and its name: names of Programs
// (docs/lowering.md), and those that readers of traces give. Operations of one role are compared with each other where
// their names differ: a trace knows no fusion groups. "" of a name that says nothing more than its class.
std::string operation_role(std::string_view name, std::string_view op_class);

}  // namespace shardsim
