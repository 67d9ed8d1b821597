#include "base/schema/json_schema.h"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/fields/fields.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"

namespace shardsim::json_schema_test {

using Json = nlohmann::json;

// A wheel has spokes, and a spoked one says of what; a disc has a thickness instead.
void read_wheel(const Tree& tree) {
  MapReader reader(tree, "");
  reader.name("name");
  if (reader.choice("kind", {"spoked", "disc"}, "disc") == "spoked") {
    reader.count("spokes", Bounds::from(3));
    if (reader.has("rim")) {
      MapReader rim = reader.map("rim");
      rim.rate("speed");
      rim.finish();
    }
  } else {
    reader.bytes("thickness", Bytes{1});
  }
  if (reader.has("holes")) {
    for (const Tree& item : reader.list("holes")) {
      MapReader hole(item, "holes");
      hole.share("part", 0.5);
      hole.finish();
    }
  }
  reader.finish();
}

// The schema with each reference replaced by what it refers to.
Json without_references(const Json& document, Json schema) {
  if (schema.is_object() && schema.contains("$ref")) {
    const std::string reference = schema["$ref"].get<std::string>();
    if (reference == "#/$defs/sourced_value") return schema;  // which holds itself
    schema = document.at(Json::json_pointer(reference.substr(1)));
  }
  if (schema.is_structured())
    for (Json& part : schema) part = without_references(document, part);
  return schema;
}

// The schema of all that a reader asks for in these files.
Json schema_of(const std::function<void(const Tree&)>& read, const std::vector<std::string>& specimens) {
  Shape shape;
  Parts parts;
  for (const std::string& text : specimens) {
    Tree tree = parse_yaml(text, "specimen");
    record_what_is_asked(tree);
    bool taken = true;
    try {
      read(tree);
    } catch (const Error&) {
      taken = false;
    }
    gather(tree, taken, shape, parts);
  }
  Json document = Json::parse(json_schema("a wheel", shape, parts));
  Json root = {{"$ref", document["$ref"]}};
  return without_references(document, root);
}

Json wheel_schema() {
  return schema_of(read_wheel,
                   {"{name: w}", "{name: w, kind: spoked, spokes: 3, rim: {speed: 1 GB/s}}", "{name: w, holes: [{}]}"});
}

TEST_CASE("A schema has the keys that a reader asks for in any of its specimens") {
  const Json schema = wheel_schema();
  for (const char* const key : {"name", "kind", "spokes", "rim", "thickness", "holes"})
    CHECK_MESSAGE(schema["properties"].contains(key), key);
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["properties"]["rim"]["properties"].contains("speed"));
}

TEST_CASE("A key is required when no reading did without it") {
  const Json schema = wheel_schema();
  CHECK(schema["required"] == Json::array({"name"}));
  CHECK(schema["properties"]["rim"]["required"] == Json::array({"speed"}));
}

TEST_CASE("A range and the words of a choice are those of the reader") {
  const Json properties = wheel_schema()["properties"];
  CHECK(properties["spokes"]["anyOf"][0]["minimum"] == 3);
  CHECK(properties["kind"]["anyOf"][0]["enum"] == Json::array({"spoked", "disc"}));
}

TEST_CASE("Items of lists have schemas, too") {
  const Json holes = wheel_schema()["properties"]["holes"]["anyOf"][0];
  CHECK(holes["type"] == "array");
  CHECK(holes["items"]["properties"].contains("part"));
  CHECK(holes["items"]["additionalProperties"] == false);
}

TEST_CASE("A map that is read without finish may hold other keys") {
  const Json schema = schema_of([](const Tree& tree) { MapReader(tree, "").count("age", 1); }, {"{age: 1}"});
  CHECK(schema["properties"].contains("age"));
  CHECK_FALSE(schema.contains("additionalProperties"));
}

TEST_CASE("What a reader asked for before it refused a specimen counts, but not as required") {
  const Json schema = schema_of(read_wheel, {"{name: w, kind: spoked}"});
  CHECK(schema["properties"].contains("spokes"));
  CHECK_FALSE(schema.contains("required"));
}

TEST_CASE("A described group of which exactly one is there, and the meaning of a key, are in the schema") {
  Shape shape;
  int inches = 0, millimetres = 0;
  Fields map(shape);
  map.take("inches", inches, up_to(99), "its width");
  map.take("millimetres", millimetres, up_to(999), "or this");
  map.exactly_one_of({"inches", "millimetres"});
  shape.forms = {{Form::Kind::map}};
  const Json document = Json::parse(json_schema("a wheel", shape, {}));
  const Json schema = without_references(document, {{"$ref", document["$ref"]}});
  CHECK(document.dump().find(R"("description":"its width")") != std::string::npos);
  CHECK(schema["allOf"][0]["oneOf"] == Json::parse(R"([{"required": ["inches"]}, {"required": ["millimetres"]}])"));
}

TEST_CASE("Reading a tree without a record notes nothing") {
  const Tree tree = parse_yaml("{name: w}", "specimen");
  read_wheel(tree);
  CHECK(tree.asked == nullptr);
}

}  // namespace shardsim::json_schema_test
