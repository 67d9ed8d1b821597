#include "program/timeline/timeline_file.h"

#include <doctest/doctest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/hdf5/hdf5.h"
#include "base/rng.h"
#include "tests/base/error_text.h"
#include "tests/program/sample_timeline.h"
#include "tests/temporary_folder.h"

namespace shardsim::timeline_file_test {
namespace {

namespace fs = std::filesystem;

Timeline bare_timeline() {
  Timeline timeline;
  timeline.kind = "observed";
  timeline.complete = false;
  timeline.steady = false;
  timeline.world_size = 3;
  timeline.ranks_per_node = 3;
  return timeline;
}

TimelineFile two_cases(const Timeline& first, const Timeline& second) {
  return {"title: two cases\n", 7, "v1", "", {{"rm1/row_wise", &first}, {"rm1/flexshard_2tier", &second}}};
}

std::string message_of(const std::function<void()>& action, Failure failure = Failure::input) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    CHECK(error.failure() == failure);
    return error.what();
  }
}

TEST_CASE("timelines read back from a file equal those written, also bare ones of another world") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  write_timelines(folder / "t.h5", two_cases(full, bare));
  CHECK(timeline_cases(folder / "t.h5") == std::vector<std::string>{"rm1/row_wise", "rm1/flexshard_2tier"});
  CHECK(read_timeline(folder / "t.h5", "rm1/row_wise") == full);
  CHECK(read_timeline(folder / "t.h5", "rm1/flexshard_2tier") == bare);
}

TEST_CASE("where a timeline was observed reads back; a prediction has no such group") {
  const TemporaryFolder folder("timeline");
  const Timeline predicted = sample_timeline(), observed = sample_observation();
  write_timelines(folder / "t.h5", two_cases(predicted, observed));
  CHECK(read_timeline(folder / "t.h5", "rm1/flexshard_2tier") == observed);
  const Hdf5Reader in(folder / "t.h5");
  CHECK(in.text_attribute("/cases/rm1/flexshard_2tier/measured", "hosts") == "node-a,node-b");
  CHECK(in.real_attribute("/cases/rm1/flexshard_2tier/measured", "clock_residual_us") == 0.5);
  CHECK_FALSE(in.has("/cases/rm1/row_wise/measured"));
}

TEST_CASE("every object of the format is there, with units and long names") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  write_timelines(folder / "t.h5", two_cases(full, bare));
  const Hdf5Reader in(folder / "t.h5");
  CHECK(in.text_attribute("/", "schema") == "shardsim.timeline/1");
  CHECK(in.text_attribute("/", "tool_version") == "v1");
  CHECK(in.text_attribute("/", "scenario") == "title: two cases\n");
  CHECK(in.text_attribute("/", "Conventions") == "shardsim-1");
  CHECK(in.integer_attribute("/", "seed") == 7);
  CHECK_THROWS_AS(in.text_attribute("/", "created"), Error);
  const std::string root = "/cases/rm1/row_wise";
  CHECK(in.text_attribute(root, "kind") == "predicted");
  CHECK(in.integer_attribute(root, "complete") == 1);
  const std::map<std::string, std::string> units = {{"summary/iteration_ms", "ms"},
                                                    {"summary/exposed_comm_ms", "ms"},
                                                    {"summary/hbm_max_bytes", "B"},
                                                    {"summary/imbalance", "1"},
                                                    {"rank/rank", "1"},
                                                    {"rank/compute_ms", "ms"},
                                                    {"rank/comm_ms", "ms"},
                                                    {"rank/exposed_ms", "ms"},
                                                    {"rank/hbm_bytes", "B"},
                                                    {"rank/bytes_out", "B"},
                                                    {"rank/bytes_in", "B"},
                                                    {"spans/span", "1"},
                                                    {"spans/start_us", "us"},
                                                    {"spans/end_us", "us"},
                                                    {"spans/rank", "1"},
                                                    {"spans/stream", "1"},
                                                    {"spans/op", "1"},
                                                    {"spans/iteration", "1"},
                                                    {"spans/bytes", "B"},
                                                    {"op/op", "1"},
                                                    {"flow/src_rank", "1"},
                                                    {"flow/dst_rank", "1"},
                                                    {"flow/bytes", "B"}};
  for (const auto& entry : units) {
    const std::string object = root + "/" + entry.first;
    CHECK_MESSAGE(in.text_attribute(object, "units") == entry.second, object);
    CHECK_MESSAGE(!in.text_attribute(object, "long_name").empty(), object);
  }
  CHECK(in.texts(root + "/op/name") == std::vector<std::string>{"lookup", "exchange", "local", "dense", "sync"});
  CHECK(in.texts(root + "/op/class")[1] == "all_to_all");
  CHECK_FALSE(in.has("/cases/rm1/flexshard_2tier/flow"));
}

// By hand, from the comment of sample_timeline(): exposed 40 us on rank 0; both ranks compute 60 us.
TEST_CASE("the summary holds the steady iteration and the largest figures over ranks") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  write_timelines(folder / "t.h5", two_cases(full, bare));
  const Hdf5Reader in(folder / "t.h5");
  const std::string root = "/cases/rm1/row_wise/summary/";
  CHECK(in.reals(root + "iteration_ms") == std::vector<double>{0.1});
  CHECK(in.reals(root + "exposed_comm_ms")[0] == doctest::Approx(0.040));
  CHECK(in.integers(root + "hbm_max_bytes") == std::vector<std::int64_t>{300});
  CHECK(in.reals(root + "imbalance")[0] == doctest::Approx(1));
}

TEST_CASE("two files written in different seconds are equal; the time of writing is stored on demand only") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  TimelineFile file = two_cases(full, bare);
  write_timelines(folder / "a.h5", file);
  usleep(1'100'000);
  write_timelines(folder / "b.h5", file);
  CHECK(read_file((folder / "a.h5").string()) == read_file((folder / "b.h5").string()));
  file.created = "2024-01-01T00:00:00Z";
  write_timelines(folder / "c.h5", file);
  CHECK(Hdf5Reader(folder / "c.h5").text_attribute("/", "created") == file.created);
}

TEST_CASE("a full disk and a missing permission are errors that name the file, and leave nothing") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message =
      message_of([&] { write_timelines(folder / "t.h5", two_cases(full, bare)); }, Failure::run);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(says(message, "t.h5"));
  CHECK(folder.empty());
  CHECK(says(message_of([&] { write_timelines("/dev/null/t.h5", two_cases(full, bare)); }, Failure::run), "/dev/null"));
}

TEST_CASE("case names that HDF5 would take for something else are refused") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline();
  for (const char* name : {"", "a//b", "/a", ".", "a/../b"}) {
    const TimelineFile file{"", 1, "v1", "", {{name, &full}}};
    CHECK_THROWS_AS(write_timelines(folder / "t.h5", file), Error);
  }
}

TEST_CASE("a timeline that no reader would take is our own mistake") {
  const TemporaryFolder folder("timeline");
  Timeline broken = sample_timeline();
  broken.spans[0].rank = 9;
  CHECK_THROWS_AS(write_timelines(folder / "t.h5", two_cases(broken, broken)), std::logic_error);
  CHECK(folder.empty());
}

TEST_CASE("an unknown case is refused with the known ones") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  write_timelines(folder / "t.h5", two_cases(full, bare));
  const std::string message = message_of([&] { read_timeline(folder / "t.h5", "rm1/row_wide"); });
  CHECK(says(message, "there is no case \"rm1/row_wide\""));
  CHECK(says(message, "rm1/row_wise"));
}

TEST_CASE("files that are not ours are refused") {
  const TemporaryFolder folder("timeline");
  write_file(folder / "text.h5", "no HDF5");
  CHECK(says(message_of([&] { read_timeline(folder / "text.h5", "main"); }), "text.h5: cannot be opened as HDF5"));
  CHECK(says(message_of([&] { timeline_cases(folder / "none.h5"); }), "none.h5: there is no such file"));
  Hdf5Writer other;
  other.text_attribute("/", "schema", "shardsim.timeline/2");
  other.save(folder / "other.h5");
  CHECK(says(message_of([&] { read_timeline(folder / "other.h5", "main"); }),
             "schema is \"shardsim.timeline/2\", not \"shardsim.timeline/1\""));
  Hdf5Writer none;
  none.save(folder / "bare.h5");
  CHECK(says(message_of([&] { read_timeline(folder / "bare.h5", "main"); }), "attribute schema of / is missing"));
}

// A file of one span, laid out by hand, that a test breaks in one place.
struct SmallFile {
  double start_us = 1, end_us = 2;
  std::int32_t rank = 0, stream = 0, op = 0;
  std::int32_t world_size = 2;
  std::size_t ranks = 2, span_bytes = 1;
  std::string kind = "predicted";
  bool with_op_class = true;

  void write(const fs::path& path) const {
    Hdf5Writer out;
    const std::string root = "/cases/main";
    out.text_attribute("/", "schema", "shardsim.timeline/1");
    out.scale<std::int32_t>("/case/case", 1, {});
    out.texts("/case/name", {"main"}, "/case/case", {});
    out.text_attribute(root, "kind", kind);
    for (const char* name : {"complete", "steady"}) out.attribute(root, name, std::int8_t{1});
    out.attribute(root, "world_size", world_size);
    for (const char* name : {"ranks_per_node", "iterations_run"}) out.attribute(root, name, std::int32_t{1});
    out.value<double>(root + "/summary/iteration_ms", 1.0, {});
    out.scale<std::int32_t>(root + "/rank/rank", ranks, {});
    for (const char* table : {"op", "stream"}) {
      const std::string folder = root + "/" + table + "/";
      out.scale<std::int32_t>(folder + table, 1, {});
      out.texts(folder + "name", {"x"}, folder + table, {});
      if (with_op_class && std::string(table) == "op") out.texts(folder + "class", {"dense"}, folder + table, {});
    }
    write_spans(out, root + "/spans/");
    out.save(path);
  }

  void write_spans(Hdf5Writer& out, const std::string& folder) const {
    out.scale<std::int64_t>(folder + "span", 1, {});
    out.scale<std::int64_t>(folder + "other", span_bytes, {});
    const auto numbers = [&](const char* name, auto value) {
      out.dataset<decltype(value)>(folder + name, std::span(&value, 1), {folder + "span"}, {});
    };
    numbers("start_us", start_us), numbers("end_us", end_us);
    numbers("rank", rank), numbers("stream", stream), numbers("op", op), numbers("iteration", std::int32_t{0});
    const std::vector<std::int64_t> bytes(span_bytes, 64);
    out.dataset<std::int64_t>(folder + "bytes", bytes, {folder + "other"}, {});
  }
};

std::string refusal(const SmallFile& file) {
  const TemporaryFolder folder("timeline");
  file.write(folder / "x.h5");
  return message_of([&] { read_timeline(folder / "x.h5", "main"); });
}

// Makes every span column of so many values, packed, which were written or not.
void lengthen_spans(const fs::path& path, hsize_t length, H5D_alloc_time_t written) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate_simple(1, &length, nullptr);
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk = 65536;
  H5Pset_chunk(packed, 1, &chunk);
  H5Pset_deflate(packed, 4);
  H5Pset_alloc_time(packed, written);
  for (const char* name : {"span", "start_us", "end_us", "rank", "stream", "op", "iteration", "bytes"}) {
    const std::string column = std::string("/cases/main/spans/") + name;
    const hid_t type = column.ends_with("_us") ? H5T_IEEE_F64LE : H5T_STD_I64LE;
    H5Ldelete(file, column.c_str(), H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, column.c_str(), type, space, H5P_DEFAULT, packed, H5P_DEFAULT));
  }
  H5Pclose(packed);
  H5Sclose(space);
  H5Fclose(file);
}

// The most memory that a process of ours has taken so far, in MiB.
long most_taken() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return used.ru_maxrss >> 10;
}

// The message that refuses a file of such spans, and the memory in MiB that this takes beyond that of good files.
std::pair<std::string, long> refusal_of_spans(hsize_t length, H5D_alloc_time_t written) {
  const TemporaryFolder folder("timeline");
  SmallFile{}.write(folder / "x.h5");
  read_timeline(folder / "x.h5", "main");
  const long before = most_taken();
  lengthen_spans(folder / "x.h5", length, written);
  const std::string message = message_of([&] { read_timeline(folder / "x.h5", "main"); });
  return {message, most_taken() - before};
}

TEST_CASE("lengths that a file does not hold, or that are too much together, are refused before they take memory") {
  const auto [unwritten, first] = refusal_of_spans(50'000'000, H5D_ALLOC_TIME_INCR);
  CHECK(says(unwritten, "/cases/main/spans/start_us says 50000000 values, more than the file holds"));
  CHECK(first < 500);
  const auto [zeros, second] = refusal_of_spans(30'000'000, H5D_ALLOC_TIME_EARLY);
  CHECK(says(zeros, "more than the 1024 MiB that one file may hold"));
  CHECK(second < 500);
}

// The four refusals of docs/formats/timeline.md (columns of unequal length, an end before its start, a rank outside the
// world, an op outside the table), and their kin.
TEST_CASE("broken columns are refused, naming file, case and span") {
  CHECK(refusal({}).empty());
  CHECK(says(refusal({.span_bytes = 2}), "column /cases/main/spans/bytes has 2 values where 1 are due"));
  CHECK(says(refusal({.span_bytes = 0}), "column /cases/main/spans/bytes has 0 values where 1 are due"));
  CHECK(says(refusal({.end_us = 0.5}), "case \"main\": span 0 ends at 0.5 us, before its start at 1 us"));
  CHECK(says(refusal({.rank = 2}), "span 0 is on rank 2, outside the world of 2 ranks"));
  CHECK(says(refusal({.rank = -1}), "span 0 is on rank -1"));
  CHECK(says(refusal({.stream = 1}), "span 0 names stream 1"));
  CHECK(says(refusal({.op = 1}), "span 0 names op 1, outside the table of 1 ops"));
  CHECK(says(refusal({.world_size = 3}), "rank/rank has 2 values for a world of 3 ranks"));
  CHECK(says(refusal({.world_size = -1}), "for a world of -1 ranks"));
  CHECK(says(refusal({.kind = "guessed"}), "\"guessed\", neither predicted nor observed"));
  CHECK(says(refusal({.with_op_class = false}), "/cases/main/op/class is missing"));
}

// A file that names these cases and holds none of them.
std::string refusal_of_names(const std::vector<std::string>& names) {
  const TemporaryFolder folder("timeline");
  Hdf5Writer out;
  out.text_attribute("/", "schema", "shardsim.timeline/1");
  out.scale<std::int32_t>("/case/case", names.size(), {});
  out.texts("/case/name", names, "/case/case", {});
  out.save(folder / "x.h5");
  return message_of([&] { timeline_cases(folder / "x.h5"); });
}

TEST_CASE("names of cases that are there twice or cannot be groups are refused before any case is read") {
  CHECK(refusal_of_names({"a", "b"}).empty());
  CHECK(says(refusal_of_names(std::vector<std::string>(1000, "main")),
             "x.h5: /case/name: two cases are named \"main\". Give every case"));
  CHECK(says(refusal_of_names({std::string(500, '/') + "a"}), "x.h5: /case/name: the case name"));
  CHECK(says(refusal_of_names({".."}), "x.h5: /case/name: the case name \"..\" has the part '..'"));
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline();
  CHECK(says(message_of([&] {
               write_timelines(folder / "t.h5", {"", 1, "", "", {{"a//b", &full}}});
             }),
             "t.h5: it cannot hold a case \"a//b\", which has an empty part"));
  CHECK(folder.empty());
}

TEST_CASE("a file cut short anywhere is refused") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  write_timelines(folder / "t.h5", two_cases(full, bare));
  const std::string whole = read_file((folder / "t.h5").string());
  for (std::size_t size = 0; size < whole.size(); size += 499) {
    write_file(folder / "cut.h5", std::string_view(whole).substr(0, size));
    CHECK(says(message_of([&] { read_timeline(folder / "cut.h5", "rm1/row_wise"); }), "cut.h5: "));
  }
}

// The HDF5 library itself crashes on some such files, so this fails where reading is not kept apart.
TEST_CASE("a file with bytes changed anywhere is read or refused, never a crash") {
  const TemporaryFolder folder("timeline");
  const Timeline full = sample_timeline(), bare = bare_timeline();
  write_timelines(folder / "t.h5", two_cases(full, bare));
  const std::string whole = read_file((folder / "t.h5").string());
  std::size_t refused = 0;
  Rng rng(1);
  for (int round = 0; round < 150; ++round) {
    std::string broken = whole;
    for (int change = 0; change < 20; ++change) broken[rng.below(whole.size())] = static_cast<char>(rng.below(256));
    write_file(folder / "broken.h5", broken);
    const std::string message = message_of([&] { read_timeline(folder / "broken.h5", "rm1/row_wise"); });
    if (message.empty()) continue;
    CHECK(says(message, "broken.h5: "));
    ++refused;
  }
  CHECK(refused > 20);
}

}  // namespace
}  // namespace shardsim::timeline_file_test
