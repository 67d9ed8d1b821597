#include "study/schema/file_schema.h"

#include <array>
#include <stdexcept>
#include <utility>

#include "base/fields/fields.h"
#include "base/fields/reference.h"
#include "base/schema/json_schema.h"
#include "study/schema/inquiries.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

struct FileKind {
  const char* name;
  const char* title;
  Inquiry (*inquiry)();  // null: a part that says its keys itself
};

constexpr std::array kKinds{FileKind{"cluster", "a cluster file of shardsim", nullptr},
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

// The parts that say their keys themselves.
Parts described_parts() {
  Parts parts;
  parts["cluster"].shape = cluster_shape();
  parts[kSourcedPart].shape = sourced_value_shape();
  return parts;
}

// The other nouns that stand within a scenario, each with its own specimens.
void ask_for_parts(const CheckStop& check_stop, Parts& parts) {
  Shape roots;  // of no use: each is a part
  for (const Inquiry& inquiry : option_inquiries()) ask(inquiry, check_stop, roots, parts);
  ask(workload_inquiry(), check_stop, roots, parts);
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> names;
  for (const FileKind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> described_kinds() {
  std::vector<std::string> names;
  for (const FileKind& kind : kKinds)
    if (kind.inquiry == nullptr) names.emplace_back(kind.name);
  return names;
}

std::string file_keys(const std::string& name) {
  return reference_tables(described_parts().at(name).shape, name);
}

std::string file_schema(const std::string& name, const std::function<void()>& check_stop) {
  for (const FileKind& kind : kKinds) {
    if (name != kind.name) continue;
    Shape root;
    Parts parts = described_parts();
    if (name == std::string("scenario")) ask_for_parts(check_stop, parts);
    if (kind.inquiry == nullptr) {
      root.part = name;
    } else {
      ask(kind.inquiry(), check_stop, root, parts);
    }
    return json_schema(kind.title, root, parts);
  }
  throw std::logic_error("no kind of file: " + name);
}

}  // namespace shardsim
