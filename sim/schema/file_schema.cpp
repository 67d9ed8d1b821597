#include "sim/schema/file_schema.h"

#include <array>
#include <stdexcept>

#include "base/schema/json_schema.h"
#include "sim/schema/inquiries.h"

namespace shardsim {
namespace {

struct FileKind {
  const char* name;
  const char* title;
  Inquiry (*inquiry)();
};

constexpr std::array kKinds{FileKind{"cluster", "a cluster file of shardsim", cluster_inquiry},
                            FileKind{"plan", "a plan file of shardsim or TorchRec", plan_inquiry},
                            FileKind{"scenario", "a scenario of shardsim", scenario_inquiry},
                            FileKind{"workload", "a workload file of shardsim", workload_inquiry}};

// The nouns that stand within a scenario, each with its own specimens.
void explore_parts(Parts& parts) {
  Shape roots;  // of no use: each is a part
  for (const Inquiry& inquiry : option_inquiries()) explore(inquiry, roots, parts);
  explore(cluster_inquiry(), roots, parts);
  explore(workload_inquiry(), roots, parts);
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> names;
  for (const FileKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::string file_schema(const std::string& name) {
  for (const FileKind& kind : kKinds) {
    if (name != kind.name) continue;
    Shape root;
    Parts parts;
    if (name == std::string("scenario")) explore_parts(parts);
    explore(kind.inquiry(), root, parts);
    return json_schema(kind.title, root, parts);
  }
  throw std::logic_error("no kind of file: " + name);
}

}  // namespace shardsim
