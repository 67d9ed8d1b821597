#include "study/why/why_document.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/base/error_text.h"

namespace shardsim::why_document_test {
namespace {

std::string not_on_path(std::vector<SlackPart> slack) {
  Why why;
  why.iteration_ms = 50;
  why.slack = std::move(slack);
  return document_text(why_document(why, nullptr, "main", Medium::terminal), 100, false);
}

// The text with one space in place of several.
std::string words(std::string text) {
  text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());
  return text;
}

}  // namespace

TEST_CASE("slack that rounds to nothing is not shown as none, and none is said to be another path") {
  const std::string little = not_on_path({{"lookup", "lookup", 0.001, 3}, {"update", "update", 1.25, 0}});
  CHECK(has(little, "< 0.01"));
  CHECK(has(little, "1.25"));
  CHECK_FALSE(has(little, "another path"));
  const std::string none = not_on_path({{"lookup", "lookup", 1e-12, 3}});
  CHECK(has(none, "  lookup     lookup         0  "));
  CHECK(has(none, "another path of the same length"));
}

TEST_CASE("a lever within rounding of nothing is said as nothing, of either sign") {
  Why why;
  why.iteration_ms = 12.35;
  Help help;
  help.iteration_ms = 12.35;
  help.elasticities = {{.lever = "nics", .name = "NIC rate", .percent = 0.4, .better_pct = -3.6, .worse_pct = 4.4},
                       {.lever = "host", .name = "host time", .percent = -0.01, .better_pct = 0.1, .worse_pct = 0.0}};
  help.supposed = {{"free_nics", "if the NICs were free", 9, 27.1},
                   {"index_dedup", "with index_dedup of sequences", 10, 19},
                   {"fp16_vectors", "if vectors travelled as fp16", 11, 11},
                   {"free_host", "if the host were free", 12.38, -0.24}};
  const std::string text = document_text(why_document(why, &help, "main", Medium::terminal), 120, false);
  CAPTURE(text);
  CHECK(has(words(text), "host time +0.10 % 0.00 % nothing"));
  CHECK(has(words(text), "NIC rate -3.60 % +4.40 % 0.40"));
  CHECK(has(text, "if the host were free                 12.38    nothing"));
  CHECK_FALSE(has(text, "-0.2"));
  CHECK(
      has(text, "On the same machine, an iteration would take 10.00 ms with index_dedup of sequences (19.0 % shorter"));
  CHECK_FALSE(has(text, "another order"));
  help.elasticities[1].better_pct = 1.63;
  const std::string longer = document_text(why_document(why, &help, "main", Medium::terminal), 160, false);
  CHECK(has(words(longer), "another order:"));
  help.supposed.erase(help.supposed.begin() + 1, help.supposed.begin() + 3);  // nobody can free a NIC
  CHECK_FALSE(
      has(document_text(why_document(why, &help, "main", Medium::terminal), 120, false), "On the same machine"));
}

TEST_CASE("a lever whose sides differ by a step says which side brings nothing") {
  Why why;
  Help help;
  why.iteration_ms = help.iteration_ms = 67;
  help.elasticities = {{.lever = "nvlink", .name = "NVLink rate", .better_pct = 0.0, .worse_pct = 20.96},
                       {.lever = "nics", .name = "NIC rate", .percent = 2.1, .better_pct = -21.0, .worse_pct = 0.0}};
  const std::string text = words(document_text(why_document(why, &help, "main", Medium::terminal), 160, false));
  CAPTURE(text);
  CHECK(has(text, "NVLink rate 0.00 % +20.96 % nothing a step: better brings nothing"));
  CHECK(has(text, "NIC rate -21.00 % 0.00 % 2.10 a step: worse costs nothing"));
}

TEST_CASE("what TF32 costs is said with what it gains") {
  Why why;
  Help help;
  why.iteration_ms = help.iteration_ms = 18.9;
  help.supposed = {{"tf32_products", "if products ran in TF32", 13.12, 30.6}};
  const std::string text = document_text(why_document(why, &help, "main", Medium::terminal), 400, false);
  CHECK(has(text,
            "an iteration would take 13.12 ms if products ran in TF32, which rounds their factors to 10 bits of "
            "mantissa (30.6 % shorter"));
}

}  // namespace shardsim::why_document_test
