#include "study/schema/file_schema.h"

#include <array>
#include <stdexcept>

#include "base/fields/fields.h"
#include "base/fields/reference.h"
#include "base/schema/json_schema.h"
#include "study/schema/noun_readers.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

struct FileKind {
  const char* name;
  const char* title;
  bool describes_itself;  // its structs say their keys (base/fields/)
};

constexpr std::array kKinds{FileKind{"cluster", "a cluster file of shardsim", true},
                            FileKind{"plan", "a plan file of shardsim or TorchRec", false},
                            FileKind{"scenario", "a scenario of shardsim", false},
                            FileKind{"workload", "a workload file of shardsim", false}};

using CheckStop = std::function<void()>;

// Shows the specimens to the reader and gathers what it asked for: of a specimen that it refuses, until then.
void ask(const NounReader& noun, const CheckStop& check_stop, Shape& shape, Parts& parts) {
  for (Tree specimen : noun.specimens) {
    check_stop();
    record_what_is_asked(specimen);
    bool taken = true;
    try {
      noun.read(specimen);
    } catch (const Error&) {
      taken = false;
    }
    gather(specimen, taken, shape, parts);
  }
}

Parts described_parts() {
  Parts parts;
  parts["cluster"].shape = cluster_shape();
  parts[kSourcedPart].shape = sourced_value_shape();
  return parts;
}

// The root of files of a kind, and the parts that it leads to.
Shape ask_for(const std::string& kind, const CheckStop& check_stop, Parts& parts) {
  Shape root, nobody;  // the roots of nouns within others are parts
  for (const NounReader& noun : noun_readers()) {
    const bool is_part = kind == "scenario" && noun.name != "plan";
    if (noun.name == kind) {
      ask(noun, check_stop, root, parts);
    } else if (is_part) {
      ask(noun, check_stop, nobody, parts);
    }
  }
  return root;
}

const FileKind& kind_of(const std::string& name) {
  for (const FileKind& kind : kKinds)
    if (name == kind.name) return kind;
  throw std::logic_error("no kind of file: " + name);
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
    if (kind.describes_itself) names.emplace_back(kind.name);
  return names;
}

std::string file_keys(const std::string& name) {
  return reference_tables(described_parts().at(name).shape, name);
}

std::string file_schema(const std::string& name, const CheckStop& check_stop) {
  const FileKind& kind = kind_of(name);
  Parts parts = described_parts();
  Shape root;
  if (kind.describes_itself) {
    root.part = name;
  } else {
    root = ask_for(name, check_stop, parts);
  }
  return json_schema(kind.title, root, parts);
}

}  // namespace shardsim
