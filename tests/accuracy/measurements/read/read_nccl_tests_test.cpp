#include <doctest/doctest.h>

#include "tests/accuracy/measurements/measurement_text.h"

namespace shardsim::read_nccl_tests_test {

namespace {

// The layout of NVIDIA/nccl-tests src/util.cu (2.17), with lines of other programs between.
const std::string kLog =
    "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 0 maxBytes 2097152 step: 2(factor) warmup iters: 1 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  100 on     node-a device  0 [0000:07:00] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  1 Group  0 Pid  101 on     node-a device  1 [0000:0f:00] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  2 Group  0 Pid  100 on     node-b device  0 [0000:07:00] NVIDIA A100-SXM4-40GB\n"
    "#  Rank  3 Group  0 Pid  101 on     node-b device  1 [0000:0f:00] NVIDIA A100-SXM4-40GB\n"
    "NCCL version 2.28.9+cuda12.9\n"
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
    "           0             0     float     sum      -1     5.10    0.00    0.00       0     5.00    0.00    0.00\n"
    "     1048576        262144     float     sum      -1    100.0   10.49   15.73       0    101.0   10.38   15.57\n"
    "     2097152        524288     float     sum      -1  1.2e+06    0.00    0.00     N/A      N/A     N/A     N/A\n"
    "# Out of bounds values : 0 OK\n";

Measurements log(const std::string& text, const std::string& source = "cluster7.log", const RunHints& hints = {}) {
  return read_nccl_tests_text(text, source, hints);
}

std::string log_fault(const std::string& text, const RunHints& hints = {}) {
  return error_of([&] { log(text, "cluster7.log", hints); });
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

const std::string kJson = R"({"version": 3, "args": ["./build/alltoall_perf", "-b", "1M"], "nccl_version": 22809,
 "config": {"nthreads": 1, "ngpus": 1},
 "devices": [
  {"rank": 0, "hostname": "a", "device": 0}, {"rank": 1, "hostname": "a", "device": 1}],
 "results": [
  {"size": 0, "count": 0, "type": "float", "redop": "none", "root": "-1", "out_of_place": {"time": 1.0}},
  {"size": 1048576, "count": 131072, "type": "float", "redop": "none", "root": "-1",
   "out_of_place": {"time": 100.0, "alg_bw": 10.49, "bus_bw": 5.24, "nwrong": 0},
   "in_place": {"time": "nan", "alg_bw": 0.0, "bus_bw": 0.0, "nwrong": null}}],
 "average_bus_bandwidth": {"bandwidth": 5.2, "okay": "unchecked"}})";

Measurements json(const std::string& text, const RunHints& hints = {}) {
  return read_nccl_tests_json(text, "cluster7.json", hints);
}

std::string json_fault(const std::string& text) {
  return error_of([&] { json(text); });
}

}  // namespace

TEST_CASE("a log gives its collective, its nodes and the out-of-place times") {
  const Measurements found = log(kLog);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].place == Place{"cluster7.log", 16});
  CHECK(found.rows[0].system == "cluster7");
  CHECK(found.rows[0].kind == CollectiveKind::all_reduce);
  CHECK(found.rows[0].nodes == 2);
  CHECK(found.rows[0].gpus_per_node == 2);
  CHECK(found.rows[0].bytes == 1048576);
  CHECK(found.rows[0].time->us() == doctest::Approx(100));
  CHECK(found.rows[0].algbw == doctest::Approx(10.49));
  CHECK(found.rows[1].time->us() == doctest::Approx(1.2e6));
  CHECK(found.notes == std::vector<std::string>{"cluster7.log: 1 rows of size 0 left out"});
}

TEST_CASE("columns are found by the header line: no root column, a blank redop, an error column, N/A in place") {
  const std::string head =
      "#                                                     out-of-place                       in-place          \n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
  const std::string rows =
      "     1048576         65536   float    sum    200.0    5.24    4.92  2e-07    201.0    5.22    4.89  1e-07\n"
      "     2097152        131072   float            300.0    6.99    6.55    N/A      N/A     N/A     N/A    N/A\n";
  const Measurements found = log(head + rows, "logs/alltoall_2x8.txt");
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].kind == CollectiveKind::all_to_all);
  CHECK(found.rows[0].nodes == 0);  // the map says it
  CHECK(found.rows[0].time->us() == doctest::Approx(200));
  CHECK(found.rows[1].time->us() == doctest::Approx(300));
}

TEST_CASE("what a log does not say, the user says") {
  RunHints hints;
  hints.system = "My cluster";
  hints.kind = CollectiveKind::all_gather;
  const std::string silent = replaced(kLog, "# Collective test starting: all_reduce_perf\n", "");
  const Measurements found = log(silent, "x.log", hints);
  CHECK(found.rows[0].system == "My cluster");
  CHECK(found.rows[0].kind == CollectiveKind::all_gather);
  CHECK(has(log_fault(silent), "cluster7.log:15: neither the output nor the file's name says which collective"));
  CHECK(log(silent, "all_reduce_perf.out").rows[0].kind == CollectiveKind::all_reduce);
}

TEST_CASE("the user does not overrule what the output or the file's name says") {
  RunHints hints;
  hints.kind = CollectiveKind::all_to_all;
  CHECK(has(log_fault(kLog, hints),
            "cluster7.log:16: the output, or the file's name, says all_reduce; --kind says all_to_all"));
  const std::string silent = replaced(kLog, "# Collective test starting: all_reduce_perf\n", "");
  CHECK(has(error_of([&] { log(silent, "all_gather_2x8.log", hints); }), "says all_gather; --kind says all_to_all"));
  CHECK(json(kJson, hints).rows[0].kind == CollectiveKind::all_to_all);
  hints.kind = CollectiveKind::all_reduce;
  CHECK(log(kLog, "x.log", hints).rows[0].kind == CollectiveKind::all_reduce);
  CHECK(has(error_of([&] { json(kJson, hints); }), "says all_to_all; --kind says all_reduce"));
}

TEST_CASE("several programs in one log are told apart") {
  const Measurements found = log(kLog + replaced(kLog, "all_reduce_perf", "build/sendrecv_perf"));
  REQUIRE(found.rows.size() == 4);
  CHECK(found.rows[0].kind == CollectiveKind::all_reduce);
  CHECK(found.rows[2].kind == CollectiveKind::send_recv);
  CHECK(found.rows[2].nodes == 2);
}

TEST_CASE("a broken log is refused with its line") {
  CHECK(has(log_fault("hello\n"), "cluster7.log: no table of nccl-tests is in the file"));
  CHECK(has(log_fault(""), "no table"));
  CHECK(has(log_fault(replaced(kLog, "   100.0 ", "   fast  ")), "cluster7.log:16: column time holds \"fast\""));
  CHECK(has(log_fault(replaced(kLog, "     262144", "     many  ")), "cluster7.log:16: column count holds \"many\""));
  CHECK(has(log_fault(replaced(kLog, "   100.0 ", "     0.0 ")), "cluster7.log:16: the time is not above 0"));
  CHECK(has(log_fault(replaced(kLog, "1048576", "99999999999999999999")), "column size holds"));
  CHECK(has(log_fault(replaced(kLog, "  15.73       0    101.0   10.38   15.57", "")), "does not fit the header"));
  CHECK(has(log_fault(replaced(kLog, "all_reduce_perf", "all_redoce_perf")), "unknown collective \"all_redoce_perf\""));
  CHECK(has(log_fault(replaced(kLog, "     time   algbw", "  cputime   algbw")), "CPU time"));
  CHECK(has(log_fault(replaced(kLog, "on     node-b device  1", "on     node-c device  1")), "4 ranks on 3 hosts"));
}

TEST_CASE("a header that names or counts the time otherwise is refused, not read as something else") {
  CHECK(has(log_fault(replaced(kLog, "    root     time   algbw", "    root  latency   algbw")),
            "cluster7.log:13: the column before algbw is \"latency\", not time"));
  CHECK(has(log_fault(replaced(kLog, "(us)  (GB/s)", "(ms)  (GB/s)")),
            "cluster7.log:14: the unit of column time is (ms), not (us)"));
  CHECK(has(log_fault(replaced(kLog, "(us)  (GB/s)", "(us)  (MB/s)")),
            "cluster7.log:14: the unit of column algbw is (MB/s), not (GB/s)"));
  CHECK(
      has(log_fault(replaced(kLog, "   (B)", "  (KB)")), "cluster7.log:14: the unit of column size is (KB), not (B)"));
  CHECK(has(log_fault("# size count time\n 8 2 5\n"), "no table of nccl-tests is in the file"));
}

TEST_CASE("the JSON form gives the same") {
  const Measurements found = json(kJson);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].kind == CollectiveKind::all_to_all);
  CHECK(found.rows[0].nodes == 1);
  CHECK(found.rows[0].gpus_per_node == 2);
  CHECK(found.rows[0].bytes == 1048576);
  CHECK(found.rows[0].time->us() == doctest::Approx(100));
  CHECK(found.rows[0].system == "cluster7");
  CHECK(has(found.notes[0], "1 rows of size 0"));
}

TEST_CASE("where JSON lists a device per process, ranks are counted by the process's GPUs") {
  const std::string one =
      replaced(kJson, R"({"rank": 1, "hostname": "a", "device": 1})", R"({"rank": 8, "hostname": "b", "device": 0})");
  const Measurements found = json(replaced(one, R"("ngpus": 1)", R"("ngpus": 8)"));
  CHECK(found.rows[0].nodes == 2);
  CHECK(found.rows[0].gpus_per_node == 8);
}

TEST_CASE("broken JSON is refused with its line") {
  CHECK(has(json_fault("{"), "cluster7.json:1"));
  CHECK(has(json_fault("[]"), "'version' is missing"));
  CHECK(has(json_fault(R"({"version": 9, "results": []})"), "file version 9"));
  CHECK(has(json_fault(R"({"version": 3})"), "'results' is missing"));
  CHECK(has(json_fault(replaced(kJson, R"("time": 100.0)", R"("time": "nan")")), "'time' is \"nan\""));
  CHECK(has(json_fault(replaced(kJson, R"("size": 1048576)", R"("size": "big")")), "cluster7.json:7"));
  CHECK(has(json_fault(replaced(kJson, R"({"time": 100.0, "alg_bw")", R"({"cpu_time": 100.0, "alg_bw")")),
            "'time' is missing"));
}

TEST_CASE("a file is read by what it holds") {
  CHECK(has(error_of([] { read_measurements("/nowhere/x.log", {}); }), "/nowhere/x.log"));
  CHECK(has(error_of([] { read_measurements(SHARDSIM_SOURCE_DIR "/scenarios/clusters", {}); }),
            "the folder holds no measurements"));
}

}  // namespace shardsim::read_nccl_tests_test
