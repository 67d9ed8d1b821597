#include "models/workload/workload_keys.h"

#include <functional>

#include "tests/models/workload_text.h"

namespace shardsim::workload_keys_test {
namespace {

const Shape& inside(const Shape& shape, const std::string& key) {
  const Shape::Key* const found = find_key(shape, key);
  REQUIRE(found != nullptr);
  return found->shape.item.empty() ? found->shape : found->shape.item.front();
}

bool is_required(const Shape& shape, const std::string& key) {
  return find_key(shape, key)->required_in == shape.maps;
}

}  // namespace

TEST_CASE("every key of a workload file says what it may be and what it means") {
  std::size_t keys = 0;
  const std::function<void(const Shape&)> look = [&](const Shape& shape) {
    for (const Shape::Key& key : shape.keys) {
      CAPTURE(key.name);
      CHECK_FALSE(key.help.empty());
      CHECK_FALSE(key.shape.forms.empty());
      ++keys;
      look(key.shape);
      for (const Shape& item : key.shape.item) look(item);
    }
  };
  look(workload_shape());
  CHECK(keys > 80);
}

TEST_CASE("keys that a workload needs are described as needed, and those of one family or kind are not") {
  const Shape whole = workload_shape();
  const Shape& table = inside(whole, "tables");
  const Shape& layer = inside(inside(whole, "dense"), "layers");
  for (const char* const key : {"schema", "name", "batch_per_gpu"}) CHECK(is_required(whole, key));
  for (const char* const key : {"name", "rows", "dim", "kind"}) CHECK(is_required(table, key));
  CHECK(is_required(layer, "name"));
  for (const char* const key : {"in", "heads"}) CHECK_FALSE(is_required(layer, key));
  CHECK_FALSE(is_required(inside(table, "access"), "s"));
  CHECK_FALSE(is_required(whole, "tables"));  // or tables_from
  CHECK(whole.one_of == std::vector<std::vector<std::string>>{{"tables", "tables_from"}});
}

TEST_CASE("described bounds are those that the reader keeps") {
  const Form copies = find_key(inside(workload_shape(), "tables"), "copies")->shape.forms.front();
  CHECK(copies.bounds == Bounds::from(1).to(100'000));
  const std::string table = "name: t, rows: 3, dim: 4, kind: pooled, copies: ";
  CHECK(parsed(one_table(table + "1")).tables.size() == 1);
  check_refused(one_table(table + "100001"), "w.yaml:4:", "tables.0.copies");
}

}  // namespace shardsim::workload_keys_test
