#pragma once

#include <string_view>

namespace shardsim {

// Tests of the class of an operation in a Timeline.
bool is_communication(std::string_view op_class);  // one of the collective kinds
bool is_compute(std::string_view op_class);        // lookup, update or dense
bool is_host(std::string_view op_class);           // launches by the host, which are neither

}  // namespace shardsim
