#include "models/workload/workload_notes.h"

#include <doctest/doctest.h>

#include "tests/base/error_text.h"

namespace shardsim::module_notes_test {
namespace {

Table table(const std::string& name, TableKind kind, std::int64_t dim) {
  Table made;
  made.name = name;
  made.kind = kind;
  made.dim = dim;
  return made;
}

}  // namespace

TEST_CASE("which module is taken to be first is said where nobody stated it") {
  const std::vector<Table> both = {table("a", TableKind::pooled, 64), table("b", TableKind::sequence, 64)};
  CHECK(has(module_order_text(both, {}), "The pooled module comes first in the forward pass, because table 'a'"));
  CHECK(has(module_order_text(both, {}), "sequence the other order"));
  CHECK(module_order_text(both, TableKind::pooled).empty());
  CHECK(module_order_text({both[0]}, {}).empty());
}

TEST_CASE("sequences of one dimension are one module, and of several they are said to be fused") {
  const std::vector<Table> tables = {table("a", TableKind::sequence, 64), table("b", TableKind::sequence, 64),
                                     table("c", TableKind::pooled, 32), table("d", TableKind::sequence, 128)};
  CHECK(fused_sequences_text({tables[0], tables[1], tables[2]}).empty());
  CHECK(has(fused_sequences_text(tables), "Sequences have 2 dimensions (64, 128)"));
}

}  // namespace shardsim::module_notes_test
