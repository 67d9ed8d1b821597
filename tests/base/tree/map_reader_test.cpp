#include "base/tree/map_reader.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "tests/base/error_text.h"

namespace shardsim::map_reader_test {

namespace {

Tree yaml(const std::string& text) {
  return parse_yaml(text, "a.yaml");
}

// The message of reading `text` (one map named "m") by `read`.
template <typename Read>
std::string refusal(const std::string& text, const Read& read) {
  const Tree tree = yaml(text);
  return error_of([&] {
    MapReader reader(tree, "m");
    read(reader);
  });
}

}  // namespace

TEST_CASE("each getter reads its type") {
  const Tree tree = yaml(
      "text: some words\nname: rm_1\nchoice: b\nflag: true\ncount: 8\nreal: -0.5\nshare: 60 %\nefficiency: 0.75\n"
      "bytes: 40 GiB\ntime: 3 us\nrate: 25 GB/s\nflops: 19.5 TFLOP/s\nlist: [1, 2]\ntexts: [a, \"b\"]\n");
  MapReader reader(tree, "");
  CHECK(reader.text("text") == "some words");
  CHECK(reader.name("name") == "rm_1");
  CHECK(reader.choice("choice", {"a", "b"}) == "b");
  CHECK(reader.flag("flag", false));
  CHECK(reader.count("count") == 8);
  CHECK(reader.real("real") == -0.5);
  CHECK(reader.share("share", 0) == 0.6);
  CHECK(reader.efficiency("efficiency", 1) == 0.75);
  CHECK(reader.bytes("bytes").count == 40LL << 30);
  CHECK(reader.time("time").value == 3e-6);
  CHECK(reader.rate("rate").bytes_per_second == 25e9);
  CHECK(reader.flops("flops").per_second == 19.5e12);
  CHECK(reader.list("list").size() == 2);
  CHECK(reader.texts("texts") == std::vector<std::string>{"a", "b"});
  reader.finish();
}

TEST_CASE("an absent key gives the fallback") {
  const Tree tree = yaml("other: 1");
  MapReader reader(tree, "");
  CHECK(reader.text("text", "t") == "t");
  CHECK(reader.choice("choice", {"a"}, "a") == "a");
  CHECK_FALSE(reader.flag("flag", false));
  CHECK(reader.count("count", 3) == 3);
  CHECK(reader.count("from", Bounds::from(0), 0) == 0);
  CHECK(reader.real("real", 1.5) == 1.5);
  CHECK(reader.share("share", 0.25) == 0.25);
  CHECK(reader.bytes("bytes", Bytes{1}).count == 1);
  CHECK(reader.time("time", Seconds{1}).value == 1);
  CHECK(reader.rate("rate", Bandwidth{1}).bytes_per_second == 1);
  CHECK(reader.texts("texts").empty());
  CHECK(reader.value("value") == nullptr);
  CHECK_FALSE(reader.has("has"));
}

TEST_CASE("a missing key is named by its whole path, with the place of its map") {
  CHECK(refusal("a: 1", [](MapReader& m) { m.rate("rate"); }) ==
        "a.yaml:1:1: the key 'm.rate' is missing. Add 'rate: ...'.");
  CHECK(has(refusal("a: 1", [](MapReader& m) { m.map("gpu").map("x").count("count"); }),
            "a.yaml:1:1: the key 'm.gpu.x.count' is missing"));
}

TEST_CASE("a misspelt required key is named as it is written, at its own place") {
  const std::string wrong = refusal("batch_per_cpu: 32\n", [](MapReader& reader) { reader.count("batch_per_gpu"); });
  CHECK(wrong == "a.yaml:1:1: unknown key \"batch_per_cpu\". Did you mean 'batch_per_gpu'? That key is required here.");
  const std::string other = refusal("summary: x\n", [](MapReader& reader) { reader.count("batch_per_gpu"); });
  CHECK(other.find("is missing") != std::string::npos);
}

TEST_CASE("a bare number where a quantity is due is the unit error, at the value's place and with its name") {
  CHECK(refusal("bandwidth: 300", [](MapReader& m) { m.rate("bandwidth"); }) ==
        "a.yaml:1:12: m.bandwidth: \"300\" has no unit. Write for example \"300 GB/s\" or \"300 Gbit/s\".");
  CHECK(has(refusal("hbm: 40", [](MapReader& m) { m.bytes("hbm"); }), "\"40 GiB\""));
  CHECK(has(refusal("nodes: 8 GB", [](MapReader& m) { m.count("nodes"); }), "a count has no unit"));
}

// docs/formats/conventions.md, "Notation of the tables": ranges.
TEST_CASE("ranges are kept") {
  CHECK(has(refusal("n: 0", [](MapReader& m) { m.count("n"); }), "a.yaml:1:4: m.n: \"0\" is below 1. Write 1 or more"));
  CHECK(has(refusal("n: 1", [](MapReader& m) { m.count("n", Bounds::from(2), 2); }), "Write 2 or more"));
  CHECK(has(refusal("n: 9007199254740992", [](MapReader& m) { m.count("n"); }), "below 2^53"));
  CHECK(has(refusal("e: 0", [](MapReader& m) { m.efficiency("e", 1); }), "is below 1e-06"));
  CHECK(has(refusal("e: 5e-324", [](MapReader& m) { m.efficiency("e", 1); }), "is below 1e-06"));
  CHECK(has(refusal("e: 1.1", [](MapReader& m) { m.efficiency("e", 1); }), "from 0 to 1"));
  CHECK(has(refusal("s: 1.1", [](MapReader& m) { m.share("s", 1); }), "from 0 to 1"));
  CHECK(has(refusal("r: 0 GB/s", [](MapReader& m) { m.rate("r"); }), "above zero"));
  CHECK(has(refusal("t: -1 s", [](MapReader& m) { m.time("t"); }), "sign"));
  CHECK(has(refusal("b: -1 B", [](MapReader& m) { m.bytes("b"); }), "sign"));
  const Tree tree = yaml("n: 0\ns: 0\nt: 0 s\nb: 0 B\ne: 1");
  MapReader zero(tree, "");
  CHECK(zero.count("n", Bounds::from(0), 5) == 0);
  CHECK(zero.share("s", 1) == 0);
  CHECK(zero.time("t").value == 0);
  CHECK(zero.bytes("b").count == 0);
  CHECK(zero.efficiency("e", 0.5) == 1);
}

TEST_CASE("names are 1 to 64 of a-z, 0-9 and _") {
  const Tree good = yaml("n: " + std::string(64, 'a'));
  CHECK(MapReader(good, "").name("n").size() == 64);
  for (const std::string& bad : {std::string("A"), std::string("a-b"), std::string("a b"), std::string("\"\""),
                                 std::string("../x"), std::string(65, 'a')}) {
    CAPTURE(bad);
    CHECK(has(refusal("n: " + bad, [](MapReader& m) { m.name("n"); }), "is not a name"));
  }
}

TEST_CASE("a choice lists what is allowed") {
  CHECK(has(refusal("k: meshh",
                    [](MapReader& m) {
                      m.choice("k", {"mesh", "switch"});
                    }),
            "m.k: \"meshh\" is not known here. Did you mean 'mesh'? Known: mesh, switch."));
}

TEST_CASE("a wrong kind of value is refused, never half used") {
  CHECK(has(refusal("a: [1]", [](MapReader& m) { m.count("a"); }), "a list is no value here"));
  CHECK(has(refusal("a: {b: 1}", [](MapReader& m) { m.text("a"); }), "a map is no value here"));
  CHECK(has(refusal("a: x", [](MapReader& m) { m.list("a"); }), "a list is expected here, but this is a text"));
  CHECK(has(refusal("a: x", [](MapReader& m) { m.map("a"); }), "m.a: a map is expected here, but this is a text"));
  CHECK(has(refusal("a: [[x]]", [](MapReader& m) { m.texts("a"); }), "a list is no value here"));
  CHECK(has(refusal("a:", [](MapReader& m) { m.count("a", 3); }), "there is no value"));
  CHECK(has(refusal("a:", [](MapReader& m) { m.list("a"); }), "this is nothing"));
}

TEST_CASE("a missing or empty map reads as a map without keys") {
  const Tree tree = yaml("a:\nb: {}");
  MapReader reader(tree, "");
  for (const char* key : {"a", "b", "c"}) {
    MapReader inner = reader.map(key);
    CHECK(inner.count("n", 7) == 7);
    inner.finish();
  }
}

TEST_CASE("finish refuses what nobody asked for, at the key") {
  CHECK(has(refusal("rate: 1\nrat:\n  x: 1", [](MapReader& m) { m.text("rate"), m.finish(); }),
            "a.yaml:2:1: unknown key \"rat\" in 'm'. Did you mean 'rate'?"));
}

TEST_CASE("a sourced value reads as its value and is recorded once") {
  const Tree tree = yaml(
      "nvlink:\n  eff: {value: 0.75, source: the paper, fitted: true, fitted_on: [r1, r2], rows_used: 12, "
      "error_unused_pct: 3.5}\n  rate: {value: 20 GB/s}\n  plain: 3 us\n");
  std::vector<SourcedValue> sources;
  MapReader reader = MapReader(tree, "", &sources).map("nvlink");
  CHECK(reader.efficiency("eff", 1) == 0.75);
  CHECK(reader.efficiency("eff", 1) == 0.75);
  CHECK(reader.rate("rate").bytes_per_second == 20e9);
  CHECK(reader.time("plain").value == 3e-6);
  CHECK(reader.is_fitted("eff"));
  CHECK_FALSE(reader.is_fitted("rate"));
  CHECK_FALSE(reader.is_fitted("plain"));
  CHECK_FALSE(reader.is_fitted("absent"));
  reader.finish();
  REQUIRE(sources.size() == 2);
  const SourcedValue expected{"nvlink.eff", "0.75", "the paper", true, {"r1", "r2"}, 12, 3.5};
  CHECK(sources[0] == expected);
  CHECK(sources[1].path == "nvlink.rate");
  CHECK_FALSE(sources[1].fitted);
}

TEST_CASE("a sourced value keeps its rules: a source when fitted, no other keys, the value's own range") {
  const auto read = [](MapReader& m) { m.efficiency("e", 1); };
  CHECK(has(refusal("e: {value: 0.5, fitted: true}", read), "m.e: a fitted value without source"));
  CHECK(has(refusal("e: {value: 0.5, sauce: x}", read), "unknown key \"sauce\" in 'm.e'. Did you mean 'source'?"));
  CHECK(has(refusal("e: {source: x}", read), "a map is no value here"));
  CHECK(has(refusal("e: {value: 1.5}", read), "a.yaml:1:12: m.e: \"1.5\" is not a share"));
  CHECK(has(refusal("e: {value: 0.5, fitted: yes}", read), "neither true nor false"));
}

TEST_CASE("places are those of the value, or of the map when it is absent") {
  const Tree tree = yaml("a: 1\nb: 2");
  const MapReader reader(tree, "");
  CHECK(reader.place_of("b") == Place{"a.yaml", 2, 4});
  CHECK(reader.place_of("c") == Place{"a.yaml", 1, 1});
}

}  // namespace shardsim::map_reader_test
