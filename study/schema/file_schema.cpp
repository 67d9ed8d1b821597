#include "study/schema/file_schema.h"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/schema/json_schema.h"
#include "study/schema/inquiries.h"

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

using CheckStop = std::function<void()>;

void ask(Inquiry inquiry, const CheckStop& check_stop, Shape& shape, Parts& parts) {
  inquiry.read = [read = std::move(inquiry.read), &check_stop](const Tree& tree) {
    check_stop();
    read(tree);
  };
  explore(inquiry, shape, parts);
}

// The nouns that stand within a scenario, each with its own specimens.
void ask_for_parts(const CheckStop& check_stop, Parts& parts) {
  Shape roots;  // of no use: each is a part
  for (const Inquiry& inquiry : option_inquiries()) ask(inquiry, check_stop, roots, parts);
  ask(cluster_inquiry(), check_stop, roots, parts);
  ask(workload_inquiry(), check_stop, roots, parts);
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> names;
  for (const FileKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::string file_schema(const std::string& name, const std::function<void()>& check_stop) {
  for (const FileKind& kind : kKinds) {
    if (name != kind.name) continue;
    Shape root;
    Parts parts;
    if (name == std::string("scenario")) ask_for_parts(check_stop, parts);
    ask(kind.inquiry(), check_stop, root, parts);
    return json_schema(kind.title, root, parts);
  }
  throw std::logic_error("no kind of file: " + name);
}

}  // namespace shardsim
