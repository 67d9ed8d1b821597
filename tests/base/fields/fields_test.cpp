#include "base/fields/fields.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "tests/base/error_text.h"

namespace shardsim::fields_test {
namespace {

struct Port {
  int lanes = 0;  // 0: by rule
  double share = 0.5;
  bool operator==(const Port&) const = default;

  void keys(Fields& map) {
    map.usual("by rule").take("lanes", lanes, up_to(16), "lanes of a port");
    map.take("share", share, share_leaf(), "the part that it gets");
  }
};

struct Nic {
  std::string name;
  Bandwidth rate;
  Seconds latency{2.5e-6};
  std::string kind = "roce";
  std::optional<Bytes> memory;
  Port port;
  std::optional<Port> spare;
  std::vector<Port> ports;
  std::vector<std::string> open;
  bool operator==(const Nic&) const = default;

  void keys(Fields& map) {
    map.need("name", name, text_leaf(kNameRule), "what it is called");
    map.need("rate", rate, "the line rate");
    map.take("latency", latency, "one way");
    map.choose("kind", kind, {"roce", "1.1"}, "the transport");
    map.take("memory", memory, bytes_leaf(Bounds::from(1)), "of its own");
    map.take("port", port, "its port");
    map.take("spare", spare, "the other one");
    map.list("ports", ports, Bounds::from(0).to(2), "more of them",
             [](Fields& inside, Port& item) { item.keys(inside); });
    map.texts("open", open, "what is not known");
    map.refuse_if(kind == "1.1" && memory, "memory", "no such NIC has memory", "Remove it");
    map.refuse("colour", "nobody sees it", "Remove it");
  }
};

Nic nic_of(const std::string& text) {
  const Tree tree = parse_yaml(text, "a.yaml");
  Nic nic;
  MapReader reader(tree, "");
  Fields map(reader);
  nic.keys(map);
  reader.finish();
  return nic;
}

std::string text_of(Nic nic) {
  const std::vector<SourcedValue> sources;
  YamlWriter writer(sources);
  Fields map(writer);
  nic.keys(map);
  return writer.text();
}

std::string refusal(const std::string& more) {
  return error_of([&] { nic_of("name: a\nrate: 25 GB/s\n" + more); });
}

}  // namespace

TEST_CASE("one description reads a struct, and writes what reads back equal") {
  const Nic least = nic_of("name: a\nrate: 200 Gbit/s\n");
  CHECK(least.rate == Bandwidth{25e9});
  CHECK(text_of(least) ==
        "name: a\nrate: \"25 GB/s\"\nlatency: \"2.5 us\"\nkind: roce\nport:\n  share: 0.5\nopen: []\n");
  const Nic most = nic_of(
      "name: a\nrate: 1 GB/s\nkind: \"1.1\"\nport: {lanes: 4}\nspare: {share: 10 %}\nports: [{lanes: 1}, {}]\nopen: "
      "[b]\n");
  CHECK(most.ports.size() == 2);
  CHECK(nic_of(text_of(most)) == most);
}

TEST_CASE("what may not be is refused at its place, with the name of the key and the way out") {
  CHECK(refusal("port: {lanes: 17}") == "a.yaml:3:15: port.lanes: \"17\" is above 16. Write a number from 1 to 16.");
  CHECK(refusal("memory: 0 B").find("a.yaml:3:9: memory: \"0 B\" is below 1") == 0);
  CHECK(refusal("kind: rose").find("a.yaml:3:7: kind: \"rose\" is not known here") == 0);
  CHECK(refusal("kind: \"1.1\"\nmemory: 1 B") == "a.yaml:4:9: no such NIC has memory. Remove it.");
  CHECK(refusal("colour: red") == "a.yaml:3:9: nobody sees it. Remove it.");
  CHECK(refusal("ports: [{}, {}, {}]").find("a.yaml:3:8: ports: 3 items") == 0);
  CHECK(error_of([] { nic_of("name: a"); }).find("the key 'rate' is missing") != std::string::npos);
}

TEST_CASE("the same description is the table of a reference page") {
  Shape shape;
  Fields map(shape);
  Nic().keys(map);
  const std::string tables = reference_tables(shape, "nic");
  CHECK(tables.starts_with(
      "<!-- keys nic -->\n| key | type | default | meaning |\n|---|---|---|---|\n"
      "| `name` | name | req | what it is called |\n| `rate` | rate | req | the line rate |\n"
      "| `latency` | time | \"2.5 us\" | one way |\n| `kind` | roce, \"1.1\" | roce | the transport |\n"
      "| `memory` | bytes, 1 or more | - | of its own |\n| `port` | map | {} | its port |\n"));
  CHECK(tables.find("<!-- keys nic.port -->\n| key | type | default | meaning |\n|---|---|---|---|\n"
                    "| `lanes` | count, at most 16 | by rule | lanes of a port |\n"
                    "| `share` | share | 0.5 | the part that it gets |\n") != std::string::npos);
  CHECK(tables.find("nic.ports") == std::string::npos);  // its keys are those of nic.port
}

}  // namespace shardsim::fields_test
