

#include "models/learned/label_file.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/files.h"
#include "tests/base/edited_text.h"
#include "tests/base/error_text.h"
#include "tests/models/learned/small_pool.h"
#include "tests/temporary_folder.h"

namespace shardsim::label_file_test {
namespace {

LabelFile read_back(const std::string& text) {
  const TemporaryFolder folder("labels");
  std::ofstream(folder / "labels.json") << text;
  return read_label_file((folder / "labels.json").string());
}

std::string refusal(const std::string& text) {
  return error_of([&] { read_back(text); });
}

}  // namespace

TEST_CASE("label file: shards with some labels read back as they were written") {
  ShardSet set = labelled_shards(5);
  set.labels[2].reset();
  const std::string text = label_file_text(set);
  const LabelFile file = read_back(text);
  const ShardSet& again = std::get<ShardSet>(file);
  CHECK(again.shards == set.shards);
  CHECK(again.law == set.law);
  CHECK(again.setting() == set.setting());
  CHECK(again.workload.tables == set.workload.tables);
  CHECK(!again.labels[2]);
  CHECK(again.labels[1]->forward == doctest::Approx(set.labels[1]->forward).epsilon(1e-7));
  CHECK(again.labels[4]->backward == doctest::Approx(set.labels[4]->backward).epsilon(1e-7));
  CHECK(label_file_text(again) == text);
}

TEST_CASE("label file: access laws of every kind") {
  Workload pool = small_pool();
  pool.tables[0] = parsed(one_table("name: a, rows: 4, dim: 4, kind: pooled, pooling_factor: 10, access: {family: "
                                    "explicit, p: [4, 3, 2, 1]}"))
                       .tables[0];
  pool.tables[1] =
      parsed(one_table("name: b, rows: 1000, dim: 4, kind: pooled, features: [{name: x, pooling_factor: 2}, "
                       "{name: y, pooling_factor: 3, num_poolings: 2}], access: {family: log_normal, "
                       "sigma: 2.5}"))
          .tables[0];
  const ShardSet set = draw_shards(pool, 1024, {3, 15, 128, std::int64_t{4} << 30, 1});
  const Workload again = std::get<ShardSet>(read_back(label_file_text(set))).workload;
  CHECK(again.tables[1] == pool.tables[1]);
  CHECK(again.tables[0].access.p == pool.tables[0].access.p);
  CHECK(again.tables[0].average_length == 10);
}

TEST_CASE("label file: whatever a workload file says of a table, but for other files, comes back") {
  Workload pool = small_pool();
  const std::vector<std::string> keys = {
      "row_order: popularity, access: {family: zipf, s: 1.1}",
      "bag_ids: first_id",
      "length_distribution: {family: uniform_int, low: 0, high: 16}",
      "length_distribution: {family: log_normal, sigma: 0.5, most: 40}",
      "length_distribution: {family: negative_binomial, size: 2.5, common: true}",
      "length_distribution: {family: histogram, lengths: [{length: 4, share: 0.5}, {length: 12, share: 0.5}]}",
      "pooling: mean, runtime: {average_length: 9, shares: [{rows: 3, share: 0.5}], source: seen}"};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::string text =
        one_table("name: t" + std::to_string(i) + ", rows: 50, dim: 4, kind: pooled, pooling_factor: 8, " + keys[i] +
                  (i == 0 ? "" : ", access: {family: zipf, s: 0.9}"));
    if (keys[i].find("common") != std::string::npos) text += "sample_factor: {sigma: 0.3}\n";
    const Workload one = parsed(text);
    pool.tables[i] = one.tables[0];
    if (one.sample_factor) pool.sample_factor = one.sample_factor;
  }
  const ShardSet set = draw_shards(pool, 1024, {3, 15, 128, std::int64_t{4} << 30, 1});
  const Workload again = std::get<ShardSet>(read_back(label_file_text(set))).workload;
  CHECK(again.tables == pool.tables);
  CHECK(again.sample_factor == pool.sample_factor);
}

TEST_CASE("label file: exchanges read back as they were written") {
  const ExchangeSet set = labelled_exchanges(4, 8);
  const LabelFile file = read_back(label_file_text(set));
  const ExchangeSet& again = std::get<ExchangeSet>(file);
  CHECK(again.exchanges == set.exchanges);
  CHECK(again.law == set.law);
  CHECK(again.topology == "toy");
  CHECK(again.labels[3]->forward[7] == doctest::Approx(set.labels[3]->forward[7]).epsilon(1e-7));
}

TEST_CASE("label file: what is wrong is said with its line") {
  const std::string text = label_file_text(labelled_shards(3));
  CHECK(has(refusal(text.substr(0, text.size() / 2)), "labels.json:"));
  CHECK(has(refusal(edited(text, "shardsim.shards/1", "shardsim.shards/9")), "shardsim.shards/9"));
  CHECK(has(refusal(edited(text, "\"provider\": \"made_up\",", "")), "does not name their provider"));
  CHECK(has(refusal(edited(text, "\"batch\"", "\"bitch\"")), "batch"));
  const std::size_t forward = text.find("\"forward_us\": [") + 16;
  const std::string first = text.substr(forward, text.find(',', forward) - forward);
  CHECK(has(refusal(edited(text, first, " 0")), "a label of 0 us is not a time"));
  CHECK(has(refusal(edited(text, first, " -3.5")), "a label of -3.5 us is not a time"));
  CHECK(has(refusal(edited(text, first, " 1e-300")), "a label of 1e-300 us is less than a picosecond"));
  CHECK(has(refusal(edited(text, first, " null")), "only one of the forward and backward times"));
  CHECK(has(refusal(edited(text, first + ",", "")), "'forward_us' has 2 entries for 3"));
  const std::size_t shard = text.find("\"shards\": [") + 15;
  const std::string piece = text.substr(shard, text.find('"', shard + 1) - shard);
  CHECK(has(refusal(edited(text, piece, "20:64")), "20 lies outside 0 to 19"));
  CHECK(has(refusal(edited(text, piece, "3:0")), "0 lies outside 1"));
  CHECK(has(refusal(edited(text, piece, "3-64")), "is not a shard"));
}

}  // namespace shardsim::label_file_test
