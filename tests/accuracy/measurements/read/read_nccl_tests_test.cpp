#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/accuracy/measurements/measurement_text.h"
#include "tests/base/edited_text.h"

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

bool told(const Measurements& found, const std::string& what) {
  return std::ranges::any_of(found.notes, [&](const std::string& note) { return has(note, what); });
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

// Reads a file with these bytes, and removes it.
Measurements read_bytes(const std::string& bytes) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("shardsim_{}_all_reduce.txt", ::getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  const std::unique_ptr<const std::filesystem::path, void (*)(const std::filesystem::path*)> gone(
      &path, [](const std::filesystem::path* file) { std::filesystem::remove(*file); });
  return read_measurements(path.string(), {});
}

std::string json_fault(const std::string& text) {
  return error_of([&] { json(text); });
}

}  // namespace

TEST_CASE("a log of all ranks says on how many nodes they lie at most") {
  const auto most = [](const std::string& text) { return log(text).rows.front().most_hosts; };
  CHECK(most(kLog) == 2);
  std::string one_name = kLog;
  for (int line = 0; line < 2; ++line) one_name = edited(one_name, "node-b", "node-a");
  CHECK(most(one_name) == 2);  // each GPU of that name is listed twice
  std::string one_host = edited(one_name, "Rank  2 Group  0 Pid  100 on     node-a device  0 [0000:07:00]",
                                "Rank  2 Group  0 Pid  100 on     node-a device  2 [0000:17:00]");
  one_host = edited(one_host, "Rank  3 Group  0 Pid  101 on     node-a device  1 [0000:0f:00]",
                    "Rank  3 Group  0 Pid  101 on     node-a device  3 [0000:1f:00]");
  CHECK(most(one_host) == 1);
}

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
  hints.kind = CollectiveKind::all_reduce;
  const std::string silent = edited(kLog, "# Collective test starting: all_reduce_perf\n", "");
  const Measurements found = log(silent, "x.log", hints);
  CHECK(found.rows[0].system == "My cluster");
  CHECK(found.rows[0].kind == CollectiveKind::all_reduce);
  CHECK(has(log_fault(silent), "cluster7.log:15: neither the output nor the file's name says which collective"));
  CHECK(log(silent, "all_reduce_perf.out").rows[0].kind == CollectiveKind::all_reduce);
}

TEST_CASE("the user does not overrule what the output or the file's name says") {
  RunHints hints;
  hints.kind = CollectiveKind::all_to_all;
  CHECK(has(log_fault(kLog, hints),
            "cluster7.log:16: the output, or the file's name, says all_reduce; --kind says all_to_all"));
  const std::string silent = edited(kLog, "# Collective test starting: all_reduce_perf\n", "");
  CHECK(has(error_of([&] { log(silent, "all_gather_2x8.log", hints); }), "says all_gather; --kind says all_to_all"));
  CHECK(json(kJson, hints).rows[0].kind == CollectiveKind::all_to_all);
  hints.kind = CollectiveKind::all_reduce;
  CHECK(log(kLog, "x.log", hints).rows[0].kind == CollectiveKind::all_reduce);
  CHECK(has(error_of([&] { json(kJson, hints); }), "says all_to_all; --kind says all_reduce"));
}

TEST_CASE("several programs in one log are told apart") {
  const std::string shift = edited(edited(kLog, "all_reduce_perf", "build/sendrecv_perf"), "15.73", "10.49");
  const Measurements found = log(kLog + shift);
  REQUIRE(found.rows.size() == 4);
  CHECK(found.rows[0].kind == CollectiveKind::all_reduce);
  CHECK(found.rows[2].kind == CollectiveKind::send_recv);
  CHECK(found.rows[2].nodes == 2);
  RunHints hints;
  hints.kind = CollectiveKind::send_recv;  // selects, and relabels nothing
  const Measurements chosen = log(kLog + shift, "x.log", hints);
  REQUIRE(chosen.rows.size() == 2);
  CHECK(chosen.rows[0].place.line == 34);
  CHECK(told(chosen, "2 rows of other collectives left out"));
  CHECK(
      told(log(kLog + edited(kLog, "all_reduce_perf", "reduce_perf")),
           "2 rows cannot be used and are left out, the first: cluster7.log:20: reduce of nccl-tests is not modelled"));
}

TEST_CASE("a broken log is refused with its line") {
  CHECK(has(log_fault("hello\n"), "cluster7.log: no table of nccl-tests is in the file"));
  CHECK(has(log_fault(""), "no table"));
  CHECK(has(log_fault(edited(kLog, "all_reduce_perf", "all_redoce_perf")), "unknown collective \"all_redoce_perf\""));
  CHECK(has(log_fault(edited(kLog, "     time   algbw", "  cputime   algbw")), "CPU time"));
  CHECK(has(log_fault(edited(kLog, "on     node-b device  1", "on     node-c device  1")), "4 ranks on 3 hosts"));
}

TEST_CASE("a torn row is left out and told, and the others are used") {
  const auto tells = [](const std::string& text, const std::string& why) {
    const Measurements found = log(text);
    CHECK(found.rows.size() == 1);
    return told(found, "1 row cannot be used and is left out, the first: cluster7.log:16: " + why);
  };
  CHECK(tells(edited(kLog, "   100.0 ", "   fast  "), "column time holds \"fast\""));
  CHECK(tells(edited(kLog, "     262144", "     many  "), "column count holds \"many\""));
  CHECK(tells(edited(kLog, "   100.0 ", "     0.0 "), "the time is not above 0"));
  CHECK(tells(edited(kLog, "1048576", "99999999999999999999"), "column size holds"));
  CHECK(
      tells(edited(kLog, "  15.73       0    101.0   10.38   15.57", ""), "a row of 7 cells does not fit the header"));
  CHECK(tells(edited(kLog, "     1048576        262144     float     sum      -1", ""),
              "the beginning of a row is missing"));
  const std::string alone = kLog.substr(0, kLog.find("     2097152"));
  CHECK(has(log_fault(edited(alone, "   100.0 ", "   fast  ")), "cluster7.log:16: column time holds \"fast\""));
}

TEST_CASE("labels of launchers before the lines are taken off, and a lost # is no harm") {
  const auto labelled = [](const std::string& label, std::string text = kLog) {
    std::string result = label;
    for (const char c : text) {
      result += c;
      if (c == '\n') result += label;
    }
    return log(result);
  };
  for (const char* label : {"[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", " 0: ", "[0] ", "[pod/worker-0/main] ",
                            "main-1  | ", "2026-07-01T12:00:00.123456Z ", "node7: "}) {
    CAPTURE(label);
    const Measurements found = labelled(label);
    REQUIRE(found.rows.size() == 2);
    CHECK(found.rows[0].nodes == 2);
    CHECK(found.rows[0].time->us() == doctest::Approx(100));
  }
  for (const char* label :
       {"pod-x7kqp launcher ", "May 14 08:13:35 node1 nccl[4242]: ", "2026-07-01T12:00:00.123+00:00 stdout F ",
        "2026-07-01 12:00:00,123 - INFO - ", "nccl/0 ", "> ", "job\tSTEP ONE\t2026-07-01T12:00:00.123Z ",
        "x3005c0s13b0n0.hsn.cm 0: ", "Thu Nov 16 12:01:17 2023[1,0]<stdout>:", "1719830400.25 "}) {
    CAPTURE(label);
    const Measurements found = labelled(label);
    REQUIRE(found.rows.size() == 2);
    CHECK(found.rows[0].nodes == 2);
    CHECK(found.rows[0].bytes == 1048576);
    CHECK(found.rows[0].time->us() == doctest::Approx(100));
  }
  std::string bare = kLog;
  std::erase(bare, '#');
  CHECK(log(edited(bare, "wrong     time", "#wrong     time")).rows.size() == 2);
}

TEST_CASE("blanks that do not break, as pages of wikis have them, keep columns apart") {
  std::string pasted;
  for (const char c : kLog) pasted += c == ' ' ? "\xc2\xa0" : std::string(1, c);
  const Measurements found = log(pasted);
  REQUIRE(found.rows.size() == 2);
  CHECK(found.rows[0].nodes == 2);
  CHECK(found.rows[0].time->us() == doctest::Approx(100));
}

TEST_CASE("colours, and quotes around lines, are taken off") {
  const auto around = [](const std::string& begin, const std::string& end) {
    std::string result;
    std::istringstream lines(kLog);
    for (std::string line; std::getline(lines, line);) result += begin + line + end + "\n";
    return log(result).rows.size();
  };
  CHECK(around("\x1b[32m", "\x1b[0m") == 2);
  CHECK(around("    \"", "\",") == 2);
  CHECK(around("{\"log\":\"", "\\n\",\"stream\":\"stdout\"}") == 2);
}

TEST_CASE("a command names the program of the table below it, and a file that it is only named in does not") {
  const std::string silent = edited(kLog, "# Collective test starting: all_reduce_perf\n", "");
  for (const char* command :
       {"$ mpirun -np 4 -x NCCL_DEBUG=WARN ./build/all_reduce_perf -b 8 -e 1G\n", "srun /opt/t/all_reduce_perf\n",
        "root@box:/# NCCL_DEBUG=WARN ./all_reduce_perf -b 8\n", "  ./build/all_reduce_perf -b 8 -g 8\n"}) {
    CAPTURE(command);
    const Measurements found = log("Linking  all_gather.o > ../build/all_gather_perf\n" + (command + silent));
    REQUIRE(found.rows.size() == 2);
    CHECK(found.rows[0].kind == CollectiveKind::all_reduce);
  }
  const std::string shift = edited(silent, "15.73", "10.49");
  const Measurements two = log("$ mpirun ./all_reduce_perf\n" + silent + "$ mpirun ./sendrecv_perf -g 1\n" + shift);
  REQUIRE(two.rows.size() == 4);
  CHECK(two.rows[2].kind == CollectiveKind::send_recv);
  CHECK(has(log_fault("all_reduce_perf  all_gather_perf\nall_reduce_perf\n" + silent), "neither the output nor"));
  CHECK(has(log_fault("$ mpirun ./gather_perf -g 1\n" + silent), "gather of nccl-tests is not modelled. These are: "));
  CHECK(has(error_of([&] { log(silent, "h100_2x8_scatter.txt"); }), "scatter of nccl-tests is not modelled"));
}

TEST_CASE("a run that stopped is told, also where its last row is whole") {
  const std::string end = "# Out of bounds values : 0 OK\n";
  CHECK_FALSE(told(log(kLog), "stopped"));
  const std::string stopped = edited(kLog, end, "");
  CHECK(told(log(stopped), "the run whose first row is at line 16 stopped behind 2 rows, or the log was cut"));
  const std::string failure = "node-b: Test NCCL failure alltoall.cu:69 'unhandled cuda error'\n";
  CHECK(told(log(stopped + failure), "or the log was cut: it says \"Test NCCL failure alltoall.cu:69"));
  CHECK(told(log(kLog + kLog.substr(0, kLog.find("           0")) + failure), "a run stopped before its first row: "));
  CHECK(has(log_fault(kLog.substr(0, kLog.find("           0")) + failure), "has no row, and says \"Test NCCL"));
}

TEST_CASE("lines about ranks that were cut are completed by the highest rank, the GPUs' numbers and the rates") {
  const auto line = [](int rank, const std::string& host, int device) {
    return "#  Rank " + std::to_string(rank) + " Group  0 Pid 1 on " + host + " device " + std::to_string(device) +
           " [0000:0" + std::to_string(device) + ":00] NVIDIA A100-SXM4-40GB\n";
  };
  // busbw / algbw = 1.875: 16 ranks.
  const std::string head = "# Collective test starting: all_reduce_perf\n# Using devices\n",
                    table =
                        "#  size count type redop root time algbw busbw\n"
                        "  1073741824 268435456 float sum -1 10887.4 98.62 184.92\n";
  const MeasuredRow ends =
      log(head + line(0, "a", 0) + line(7, "a", 7) + line(8, "b", 0) + line(15, "b", 7) + table).rows[0];
  CHECK(ends.nodes == 2);
  CHECK(ends.gpus_per_node == 8);
  const MeasuredRow last = log(head + line(15, "b", 3) + table).rows[0];
  CHECK(last.nodes == 4);
  CHECK(last.gpus_per_node == 4);
  const MeasuredRow first = log(head + line(0, "a", 0) + line(1, "a", 1) + table).rows[0];
  CHECK(first.ranks == 16);
  CHECK(first.nodes == 8);  // two to a host, as far as the lines go
  const MeasuredRow none = log(head + table).rows[0];
  CHECK(none.ranks == 16);
  CHECK(none.nodes == 0);
  // 17 ranks by their lines, 16 by the rates.
  CHECK(has(log_fault(head + line(16, "c", 0) + table), "they do not agree"));
}

TEST_CASE("without lines about ranks, the GPUs of each process count") {
  const auto of = [](int threads, int gpus, const std::string& rates, const std::string& before = "") {
    return log(before + fmt::format("# nThread {} nGpus {} minBytes 8 maxBytes 8 agg iters: 1\n", threads, gpus) +
                   "#  size count type redop root time algbw busbw\n  1073741824 268435456 float sum -1 10737.4 " +
                   rates + "\n",
               "all_reduce.log")
        .rows.at(0);
  };
  const std::string of_8 = "100.0 175.0", of_16 = "100.0 187.5";
  for (const MeasuredRow& row : {of(1, 8, of_8), of(8, 1, of_8), of(2, 4, of_8)}) {
    CHECK(row.nodes == 1);
    CHECK(row.gpus_per_node == 8);
  }
  CHECK(of(1, 8, of_16).nodes == 0);  // two processes, on one host or on two
  CHECK(of(1, 8, of_16).ranks == 16);
  CHECK(of(1, 8, of_16).gpus_of_process == 8);
  CHECK(of(1, 1, of_8).nodes == 0);
  CHECK(of(1, 8, of_8, "NCCL_TESTS_SPLIT=%8\n").nodes == 0);  // then a group has one GPU of each process
  CHECK(has(error_of([&] { of(1, 6, of_8); }), "6 GPUs of each process: they do not agree"));
}

TEST_CASE("where no rate tells the ranks, a command without a launcher is one process") {
  const std::string table =
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 agg iters: 1\n#  size count type redop root time algbw busbw\n"
      "  1073741824 268435456 float none 0 10737.4 100.0 100.0\n";
  const auto nodes = [&](const std::string& command) { return log(command + table, "broadcast.log").rows.at(0).nodes; };
  const std::string alone = "$ ./build/broadcast_perf -g 8\n";
  CHECK(nodes(alone) == 1);
  CHECK(nodes("") == 0);
  CHECK(nodes("mpirun -np 2 ./build/broadcast_perf -g 8\n") == 0);
  CHECK(nodes("mpirun -np 2 \\\n  ./build/broadcast_perf -g 8\n") == 0);
  CHECK(nodes(alone + alone) == 0);  // as `set -x` of two processes prints it
}

TEST_CASE("a run whose times are not those of single calls is out of the model, and other odd runs are told") {
  const auto with = [](const std::string& header, const std::string& command = "") {
    return log(command + edited(kLog, "warmup iters: 1 iters: 20", header));
  };
  const std::string usual = "warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0";
  CHECK(with(usual).rows.at(0).caveat.empty());
  CHECK(with(usual).notes == log(kLog).notes);
  CHECK(has(with("warmup iters: 5 iters: 20 agg iters: 100 graph: 0").rows.at(0).caveat, "agg iters: 100"));
  CHECK(has(with("warmup iters: 0 iters: 1 agg iters: 1").rows.at(0).caveat, "the set-up of first calls"));
  CHECK(has(with(usual + "\n# Blocking Enabled: wait and barrier after each inner iteration (-m)").rows.at(0).caveat,
            "blocking"));
  CHECK(has(with(usual, "$ all_reduce_perf -z 1\n").rows.at(0).caveat, "blocking"));
  CHECK(has(with(usual, "$ all_reduce_perf --report_cputime=1\n").rows.at(0).caveat, "the host's"));
  CHECK(has(with(usual, "mpirun -np 4 all_reduce_perf -b 8 \\\n  -z 1 -e 8G\n").rows.at(0).caveat, "blocking"));
  const Measurements odd = with("warmup iters: 0 iters: 20 agg iters: 1 graph: 10", "$ all_reduce_perf -R 2 -a 1\n");
  CHECK(odd.rows.at(0).caveat.empty());
  CHECK(told(odd, "2 rows measured with graph: 10, warmup iters: 0, -R 2, which no prediction follows"));
  // Of the first run alone.
  const Measurements two = log(edited(kLog, "warmup iters: 1", "agg iters: 9 warmup iters: 1") + kLog);
  REQUIRE(two.rows.size() == 4);
  CHECK(has(two.rows[0].caveat, "agg iters: 9"));
  CHECK(two.rows[2].caveat.empty());
}

TEST_CASE("JSON says in its config how a run was measured") {
  const auto config = [](const std::string& more) {
    return json(edited(kJson, "\"ngpus\": 1", "\"ngpus\": 1, " + more)).rows.at(0).caveat;
  };
  CHECK(config("\"aggregated_iterations\": 1, \"blocking_collectives\": \"false\"").empty());
  CHECK(has(config("\"aggregated_iterations\": 20"), "agg iters: 20"));
  CHECK(has(config("\"blocking_collectives\": \"true\""), "blocking"));
  CHECK(has(json_fault(edited(kJson, "{\"time\": 100.0", "{\"cpu_time\": 100.0")), "the run reports CPU time"));
}

TEST_CASE("rows that messages of NCCL broke are put together again") {
  const std::string info = "node-a:17:17 [0] NCCL INFO Connected all rings\n";
  const auto same = [&](const std::string& text) {
    const Measurements found = log(text), whole = log(kLog);
    CHECK(found.notes == whole.notes);
    REQUIRE(found.rows.size() == whole.rows.size());
    CHECK(found.rows[0].bytes == 1048576);
    CHECK(found.rows[0].time->us() == doctest::Approx(100));
    CHECK(found.rows[0].reduction == "sum");
  };
  same(edited(kLog, "-1    100.0", "-1" + info + "    100.0"));
  same(edited(kLog, "-1    100.0", "-1" + info + info + "    100.0"));
  same(edited(kLog, "15.73       0", "15.73       0" + info));
  const Measurements lost =
      log(edited(kLog, "-1    100.0   10.49   15.73       0    101.0   10.38   15.57", "-1" + info));
  CHECK(lost.rows.size() == 1);
  CHECK(told(lost, "cluster7.log:16: the end of a row is missing"));
}

TEST_CASE("sizes with a unit are powers of two, where they are whole numbers of elements") {
  CHECK(log(edited(kLog, "     1048576        262144", "          1M        262144")).rows.at(0).bytes == 1048576);
  CHECK(log(edited(kLog, "     1048576        262144", "        1MiB        262144")).rows.at(0).bytes == 1048576);
  CHECK(log(edited(kLog, "     1048576        262144", "          1M        262100")).rows.size() == 1);
}

TEST_CASE("programs before 2018 call the size bytes, and print milliseconds") {
  const std::string old =
      "# Using devices\n#   Rank  0 on node-a device  0 [0x06] Tesla V100-SXM2-16GB\n"
      "#   Rank  1 on node-a device  1 [0x07] Tesla V100-SXM2-16GB\n"
      "#                                                 out-of-place                    in-place\n"
      "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
      "    10000000       2500000   float     max    0.500  20.00  20.00    0e+00    0.501  19.96  19.96    0e+00\n";
  const Measurements found = log(old, "all_reduce.txt");
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].time->us() == doctest::Approx(500));
  CHECK(found.rows[0].reduction == "max");
  CHECK(found.rows[0].nodes == 1);
}

TEST_CASE("the ways that NCCL tells of its channels count as what a run did without") {
  const std::string head = "a:1:2 [0] NCCL INFO Channel 00/0 : ", by_peers = head + "0[0] -> 1[1] via P2P/CUMEM\n",
                    by_host = head + "1[1] -> 0[0] via SHM/direct/direct\n",
                    direct = head + "1[1] -> 8[0] [send] via NET/IB/1(0)/GDRDMA\n",
                    over_host = head + "8[0] -> 1[1] [receive] via NET/IB/0\n";
  const auto off = [](const std::string& lines) { return log(lines + kLog).rows.at(0).switched_off; };
  CHECK(off(by_host).peer_to_peer == "via SHM/direct/direct");
  CHECK(off(by_peers + by_host).peer_to_peer.empty());  // GPUs of two sockets
  CHECK(off(by_host + by_peers).peer_to_peer.empty());
  CHECK(off(over_host).gpudirect == "via NET/IB/0");
  CHECK(off(over_host + direct).gpudirect.empty());
  CHECK(off(head + "1[1] -> 8[0] [send] via NET/NCCL RDMA Plugin v9/1(0)/GDRDMA/Shared\n").gpudirect.empty());
  CHECK(off(head + "1[1] -> 8[0] [send] via NET/AWS Libfabric/1\n").gpudirect == "via NET/AWS Libfabric/1");
  CHECK(off("copied via SHM/direct to 1 -> 2\n").peer_to_peer.empty());  // of another program
}

TEST_CASE("where NCCL says that it has no NVLS, none is predicted, and GPUs that could have it are told of") {
  const std::string hopper = edited(kLog, "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3");
  for (const char* line : {"a:1:2 [0] NCCL INFO NVLS multicast support is not available on dev 0\n",
                           "a:1:2 [0] NCCL INFO 24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p\n"}) {
    CHECK(log(line + hopper).rows.at(0).algorithm == "^NVLS,NVLSTree");
    CHECK(told(log(line + hopper), "2 rows predicted with "));
    CHECK(log(line + kLog).notes == log(kLog).notes);
  }
  CHECK(log("a:1:2 [0] NCCL INFO 24 coll channels, 16 nvls channels, 32 p2p\n" + hopper).rows.at(0).algorithm.empty());
}

TEST_CASE("exports of a table, with commas, bars or tabs between its columns, are read") {
  const std::string table =
      "size,count,type,redop,root,time,algbw,busbw,#wrong,time,algbw,busbw,#wrong\n"
      "1048576,262144,float,sum,-1,50.0,20.97,36.70,0,51.0,20.56,35.98,0\n";
  const auto with = [&](char separator) {
    std::string text = table;
    std::ranges::replace(text, ',', separator);
    return text;
  };
  std::string bars = edited(with('|'), "\n", "\n---|---|---|---|---|---|---|---\n");
  for (const std::string& text : {table, with(';'), with('\t'), bars}) {
    const Measurements found = log(text, "all_reduce.txt");
    REQUIRE(found.rows.size() == 1);
    CHECK(found.rows[0].time->us() == doctest::Approx(50));
    CHECK(found.rows[0].ranks == 8);
    CHECK_FALSE(told(found, "cannot be used"));
  }
  CHECK(has(log_fault("a,b\n1,2\n"), "no table of nccl-tests"));
}

TEST_CASE("processes that never met are told from their lists of ranks, however many there are") {
  std::string text;
  for (int process = 0; process < 4; ++process)
    text += fmt::format(
        "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 8\n# Using devices\n"
        "#  Rank  0 Group  0 Pid {} on node-a device  0 [0000:07:00] NVIDIA A100-SXM4-40GB\n",
        process);
  text += "#  size count type redop root time algbw busbw\n  1073741824 268435456 float sum -1 1073.74 1000.0 0.00\n";
  CHECK(has(log_fault(text), "two processes that never met"));
}

TEST_CASE("where ranks go round the hosts in turn, their sends are not those that are predicted") {
  const auto run = [](const std::string& program, const char* hosts) {
    std::string text = "# Collective test starting: " + program + "\n# Using devices\n";
    for (int rank = 0; rank < 4; ++rank)
      text += fmt::format("#  Rank  {} Group  0 Pid {} on {} device {} [0000:0{}:00] NVIDIA H200\n", rank, rank,
                          hosts[rank], rank, rank);
    return log(text +
               "#  size count type redop root time algbw busbw\n 1073741824 4 float none -1 10737.4 100.0 100.0\n")
        .rows.at(0)
        .caveat;
  };
  CHECK(run("sendrecv_perf", "aabb").empty());
  CHECK(has(run("sendrecv_perf", "abab"), "round the hosts in turn"));
  CHECK(run("broadcast_perf", "abab").empty());
  CHECK(log("#  size count type redop root time algbw busbw\n 1073741824 4 float none -1 10737.4 100.0 100.0\n",
            "sendrecv.log")
            .rows.at(0)
            .caveat.empty());  // without lines about ranks
}

TEST_CASE("a table of another library is refused by its name") {
  CHECK(has(log_fault(edited(kLog, "NCCL version 2.28.9+cuda12.9", "# Initializing MSCCL++")),
            "cluster7.log:10: the rows are of MSCCL++, not of NCCL"));
}

TEST_CASE("what an old NCCL lacks is left out of the prediction, and said") {
  const auto with = [](const std::string& version) {
    return log(edited(edited(kLog, "nccl-headers=22809 nccl-library=22809", ""), "2.28.9+cuda12.9", version));
  };
  CHECK(with("2.28.9+cuda12.9").rows.at(0).algorithm.empty());
  const Measurements old = with("2.14.3+cuda11.7");
  CHECK(old.rows.at(0).algorithm == "^NVLS,NVLSTree,PAT");
  CHECK_FALSE(old.rows.at(0).without_pxn);
  CHECK(told(old, "2 rows predicted with NCCL 2.14.3, which lacks NVLS, NVLSTree, PAT, as the log says"));
  CHECK(with("2.17.1").rows.at(0).algorithm == "^NVLSTree,PAT");
  CHECK(with("2.8.4").rows.at(0).without_pxn);
  CHECK(log(edited(kLog, "nccl-library=22809", "nccl-library=2708")).rows.at(0).algorithm.empty());  // said again below
  CHECK(log("NCCL_ALGO=Ring\n" + edited(kLog, "2.28.9+cuda12.9", "2.14.3")).rows.at(0).algorithm == "Ring");
  CHECK(json(edited(kJson, "22809", "21403")).rows.at(0).algorithm == "^NVLS,NVLSTree,PAT");
}

TEST_CASE("what a log tells against its own rows is told, and no prediction is judged by them") {
  const auto caveat = [](const std::string& text) { return log(text).rows.at(0).caveat; };
  CHECK(caveat(kLog).empty());
  CHECK(has(caveat(edited(kLog, "node-b device  1 [0000:0f:00]", "node-b device  0 [0000:07:00]")),
            "ranks 2 and 3 are on one GPU"));
  CHECK(has(caveat(edited(kLog, "0f:00] NVIDIA A100-SXM4-40GB\n#  Rank  2", "0f:00] NVIDIA A30\n#  Rank  2")),
            "GPUs of several models in one group"));
  CHECK(has(caveat(edited(kLog, "NVIDIA A100-SXM4-40GB", "AMD Instinct MI300X")), "not a GPU of NVIDIA"));
  CHECK(has(caveat(edited(kLog, "A100-SXM4-40GB", "A100-SXM4-40GB MIG 1g.5gb")), "a slice of a GPU"));
  CHECK(has(caveat(edited(kLog, "0 OK", "12 FAILED")), "12 wrong values"));
  CHECK(has(caveat(edited(kLog, "nccl-tests version", "rccl-tests version")), "another vendor"));
  const std::string apart = edited(edited(kLog, "Rank  1", "Rank  0"), "15.73", " 0.00");
  CHECK(has(log_fault(apart), "two processes that never met"));
}

TEST_CASE("a row that was broken in two is told, and a compressed log is called one") {
  const Measurements found = log(edited(kLog, "2097152        524288 ", "2097152        524288\n"));
  CHECK(found.rows.size() == 1);
  CHECK(told(found, "cluster7.log:17: the end of a row is missing"));
  CHECK(log(edited(kLog, "# Out of", "17 4\n# Out of")).notes == log(kLog).notes);  // of another program
  CHECK(has(log_fault("\x1f\x8b\x08\x00 some bytes"), "cluster7.log: the file is compressed by gzip. Unpack it first"));
  CHECK(has(log_fault("BZh91AY"), "compressed by bzip2"));
}

// A job that was killed has no sum of them at its end, and one whose sum was cut says 0.
TEST_CASE("values that the rows say were wrong put the run out of the model, whatever the last lines say") {
  const std::string wrong = edited(kLog, "15.73       0", "15.73 1.2e+06");
  const std::string head = "#wrong     time   algbw   busbw", row = "101.0   10.38   15.57";
  const std::string in_place = edited(edited(kLog, head, head + " #wrong"), row, row + "     99");
  for (const std::string& text : {wrong, edited(wrong, "# Out of bounds values : 0 OK\n", ""),
                                  edited(in_place, "N/A     N/A     N/A\n", "N/A     N/A     N/A     N/A\n")}) {
    const Measurements found = log(text);
    CHECK(has(found.rows.at(0).caveat, "wrong values in 1 of 2 rows (first: cluster7.log:16)"));
    CHECK(found.rows.at(1).caveat == found.rows.at(0).caveat);
    CHECK(told(found, "wrong values in 1 of 2 rows"));
  }
  CHECK(json(kJson).rows.at(0).caveat.empty());
  CHECK(has(json(edited(kJson, "\"nwrong\": 0", "\"nwrong\": 5.000000")).rows.at(0).caveat,
            "wrong values in 1 of 1 row"));
  CHECK(has(json(edited(kJson, "\"nwrong\": null", "\"nwrong\": 5")).rows.at(0).caveat, "wrong values in 1 of 1 row"));
}

TEST_CASE("element types, operations and forced algorithms are read") {
  const Measurements found =
      log("NCCL_ALGO=Ring\n" + edited(kLog, "float     sum      -1    100.0", "half     max      -1    100.0"));
  CHECK(found.rows[0].type == "half");
  CHECK(found.rows[0].reduction == "max");
  CHECK(found.rows[1].reduction == "sum");
  CHECK(found.rows[0].algorithm == "Ring");
  CHECK(told(found, "operations max, sum are mixed"));
  CHECK(told(found, "predicted with NCCL_ALGO=Ring"));
}

TEST_CASE("a setting holds for the runs that it was made for") {
  const auto algorithms = [](const std::string& text) {
    std::vector<std::string> found;
    for (const MeasuredRow& row : log(text).rows) found.push_back(row.algorithm);
    return found;
  };
  using Texts = std::vector<std::string>;
  const std::string launch = " mpirun ./all_reduce_perf\n";
  CHECK(algorithms("$ NCCL_ALGO=Ring" + launch + kLog + "$ NCCL_ALGO=Tree" + launch + kLog) ==
        Texts{"Ring", "Ring", "Tree", "Tree"});
  CHECK(algorithms("$ NCCL_ALGO=Ring" + launch + kLog + "$" + launch + kLog) == Texts{"Ring", "Ring", "", ""});
  CHECK(algorithms("+ export NCCL_ALGO=Ring\n" + kLog + kLog) == Texts{"Ring", "Ring", "Ring", "Ring"});
  CHECK(algorithms("# we did not set NCCL_ALGO=Tree this time\n" + kLog) == Texts{"", ""});
  CHECK(algorithms("NCCL_NVLS_ENABLE set by environment to 0.\n" + kLog) == Texts(2, "^NVLS,NVLSTree"));
  CHECK(algorithms("$ NCCL_NVLS_ENABLE=0 NCCL_ALGO=^PAT" + launch + kLog) == Texts(2, "^PAT,NVLS,NVLSTree"));
}

TEST_CASE("a row whose size, time and rate contradict each other is told, not judged") {
  const Measurements torn = log(kLog +
                                "       48576        262144     float     sum      -1    100.0   10.49   15.73       0"
                                "    101.0   10.38   15.57\n");
  CHECK(torn.rows.size() == 2);
  CHECK(told(torn,
             "1 row cannot be used and is left out, the first: cluster7.log:19: its size and time are 0.4858 GB/s, "
             "and algbw says 10.49: a part of the row may be lost"));
  CHECK(has(log_fault(edited(edited(kLog, "100.0   10.49", "200.0   10.49"), "1.2e+06    0.00", "1.2e+03    0.00")),
            "cluster7.log:16: its size and time are 5.243 GB/s"));
}

TEST_CASE("logs of RCCL are another vendor's, also where no line names a GPU") {
  const std::string unnamed =
      edited(edited(edited(edited(kLog, " NVIDIA A100-SXM4-40GB\n", "\n"), " NVIDIA A100-SXM4-40GB\n", "\n"),
                    " NVIDIA A100-SXM4-40GB\n", "\n"),
             " NVIDIA A100-SXM4-40GB\n", "\n");
  CHECK(log(unnamed).rows.at(0).caveat.empty());
  const std::string version = "NCCL version 2.28.9+cuda12.9\n";
  for (const char* line :
       {"RCCL version 2.20.5-HEAD:d380693\n", "RCCL version : 2.26.6\n", "HIP version  : 6.2.41133\n"})
    CHECK(has(log(edited(unnamed, version, line)).rows.at(0).caveat, "RCCL runs on GPUs of another vendor"));
}

TEST_CASE("algorithms of one collective are those of its part, and names that NCCL lacks are not followed") {
  const auto of = [](const std::string& line) { return log(line + "\n" + std::string(kLog)).rows.at(0); };
  const std::string nccl = "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to ";
  CHECK(of(nccl + "allreduce:tree;broadcast:ring.").algorithm == "tree");
  CHECK(of(nccl + "broadcast:tree;ring").algorithm == "ring");
  CHECK(of(nccl + "broadcast:tree").algorithm == "");
  CHECK(of("export NCCL_ALGO='ring;allreduce:tree,nvls'").algorithm == "tree,nvls");
  CHECK(of("NCCL_PROTO=\"allreduce:simple;LL\"").protocol == "simple");
  CHECK(of("NCCL_PROTO=LL128; ./all_reduce_perf").protocol == "LL128");
  const Measurements unknown = log("NCCL_ALGO=Foo\n" + std::string(kLog));
  CHECK(unknown.rows.at(0).algorithm == "");
  CHECK(told(unknown, "measured with NCCL_ALGO=Foo, which no prediction follows"));
}

TEST_CASE("hardware that a run switched off is read") {
  const auto off = [](const std::string& line) { return log(line + "\n" + kLog).rows.at(0).switched_off; };
  CHECK(off("x").peer_to_peer == "");
  CHECK(off("NCCL_P2P_DISABLE=0").peer_to_peer == "");
  CHECK(off("$ NCCL_P2P_DISABLE=1 ./all_reduce_perf -g 4").peer_to_peer == "NCCL_P2P_DISABLE=1");
  CHECK(off("NCCL_P2P_LEVEL set by environment to LOC").peer_to_peer == "NCCL_P2P_LEVEL=LOC");
  CHECK(off("NCCL_SHM_DISABLE=1").shared_memory == "NCCL_SHM_DISABLE=1");
  CHECK(off("mpirun -x NCCL_IB_DISABLE=1 \\").infiniband == "NCCL_IB_DISABLE=1");
  CHECK(off("NCCL_NET_GDR_LEVEL=LOC NCCL_NET=Socket").all_but_sockets == "NCCL_NET=Socket");
  CHECK(off("NCCL_NET_GDR_LEVEL=LOC NCCL_NET=Socket").gpudirect == "NCCL_NET_GDR_LEVEL=LOC");
  CHECK(off("a:1:1 [0] NCCL INFO Using network Socket").all_but_sockets == "Using network Socket");
  CHECK(off("export NCCL_MNNVL_ENABLE=0").nvlinks_of_hosts == "NCCL_MNNVL_ENABLE=0");
  CHECK(off("export NCCL_MNNVL_ENABLE=1").nvlinks_of_hosts == "");
  // What NCCL says it uses counts more than what it was told.
  CHECK(off("NCCL_IB_DISABLE=1\na:1:1 [0] NCCL INFO Using network AWS Libfabric").infiniband == "");
}

TEST_CASE("the NICs that NCCL_IB_HCA names one by one are counted, and PXN is off where a run says so") {
  const auto nics = [](const std::string& value) {
    return log("export NCCL_IB_HCA=" + value + "\n" + kLog).rows.at(0).switched_off.nics_left;
  };
  CHECK(nics("mlx5_0") == 1);
  CHECK(nics("\"mlx5_0,mlx5_1\"") == 2);
  CHECK(nics("=mlx5_0:1,mlx5_3:1,mlx5_3:1") == 2);
  for (const char* uncounted : {"mlx5", "^mlx5_bond_0", "mlx5_0,mlx5_bond", "ib"}) CHECK(nics(uncounted) == 0);
  const auto off = [](const std::string& line) {
    return log("a:1:1 [0] NCCL INFO " + line + "\n" + kLog).rows.at(0).switched_off;
  };
  CHECK(off("NCCL_IB_HCA set to mlx5_0").nics_left == 1);
  const SwitchedOff listed = off("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>");
  CHECK(listed.nics_left == 2);
  CHECK(listed.other_nics == "NET/IB lists 2 NICs");
  CHECK(off("NET/IB : Using [0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}").nics_left == 0);  // merged ones
  CHECK(off("NET/IB : No device found.").nics_left == 0);
  CHECK(off("Using network FasTrak").network == "FasTrak");
  const Measurements without = log("NCCL_PXN_DISABLE=1\n" + std::string(kLog));
  CHECK(without.rows.at(0).without_pxn);
  CHECK(told(without, "predicted with NCCL_PXN_DISABLE=1 as the log says"));
  CHECK_FALSE(log("NCCL_PXN_DISABLE=0\n" + std::string(kLog)).rows.at(0).without_pxn);
}

TEST_CASE("channels and rings that a run forced are read, and what changes its times unseen is told") {
  const Measurements forced =
      log("export NCCL_MAX_NCHANNELS=8\nNCCL_MIN_CTAS=4 NCCL_CROSS_NIC=0\n" + std::string(kLog));
  CHECK(forced.rows.at(0).most_channels == 8);
  CHECK(forced.rows.at(0).least_channels == 4);
  CHECK(forced.rows.at(0).cross_nic == 0);
  CHECK(told(forced, "predicted with NCCL_CROSS_NIC=0 NCCL_MIN_CTAS=4 NCCL_MAX_NCHANNELS=8 as the log says"));
  const Measurements odd = log("NCCL_BUFFSIZE=8388608 NCCL_CROSS_NIC=7\n" + std::string(kLog));
  CHECK_FALSE(odd.rows.at(0).cross_nic);
  CHECK(odd.rows.at(0).most_channels == 0);
  CHECK(told(odd, "measured with NCCL_BUFFSIZE=8388608, which no prediction follows"));
}

TEST_CASE("a header that names or counts the time otherwise is refused, not read as something else") {
  CHECK(has(log_fault(edited(kLog, "    root     time   algbw", "    root  latency   algbw")),
            "cluster7.log:13: the column before algbw is \"latency\", not time"));
  CHECK(has(log_fault(edited(kLog, "(us)  (GB/s)", "(ms)  (GB/s)")),
            "cluster7.log:14: the unit of column time is (ms), not (us)"));
  CHECK(has(log_fault(edited(kLog, "(us)  (GB/s)", "(us)  (MB/s)")),
            "cluster7.log:14: the unit of column algbw is (MB/s), not (GB/s)"));
  CHECK(has(log_fault(edited(kLog, "   (B)", "  (KB)")), "cluster7.log:14: the unit of column size is (KB), not (B)"));
  CHECK(has(log_fault("# size count time\n 8 2 5\n"), "no table of nccl-tests is in the file"));
}

TEST_CASE("a sum of wrong values in JSON puts the run out of the model, by both names of its count") {
  for (const char* key : {"count", "out_of_bounds_count"}) {
    const std::string sum = std::string("\"out_of_bounds\": {\"") + key + "\": 12, \"okay\": false}, \"average";
    CHECK(has(json(edited(kJson, "\"average", sum)).rows.at(0).caveat, "nccl-tests found 12 wrong values"));
  }
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
      edited(kJson, R"({"rank": 1, "hostname": "a", "device": 1})", R"({"rank": 8, "hostname": "b", "device": 0})");
  // 16 ranks have 15/16 between the rates.
  const Measurements found = json(edited(edited(one, R"("ngpus": 1)", R"("ngpus": 8)"), "5.24", "9.834"));
  CHECK(found.rows[0].nodes == 2);
  CHECK(found.rows[0].gpus_per_node == 8);
}

TEST_CASE("broken JSON is refused with its line") {
  CHECK(has(json_fault("{"), "cluster7.json:1"));
  CHECK(has(json_fault("[]"), "'version' is missing"));
  CHECK(has(json_fault(R"({"version": 9, "results": []})"), "file version 9"));
  CHECK(has(json_fault(R"({"version": 3})"), "'results' is missing"));
  CHECK(has(json_fault(edited(kJson, R"("time": 100.0)", R"("time": "nan")")), "'time' is \"nan\""));
  CHECK(has(json_fault(edited(kJson, R"("size": 1048576)", R"("size": "big")")), "cluster7.json:7"));
  CHECK(has(json_fault(edited(kJson, R"({"time": 100.0, "alg_bw")", R"({"times": 100.0, "alg_bw")")),
            "'time' is missing"));
}

TEST_CASE("a file is read by what it holds") {
  CHECK(has(error_of([] { read_measurements("/nowhere/x.log", {}); }), "/nowhere/x.log"));
  CHECK(has(error_of([] { read_measurements(SHARDSIM_SOURCE_DIR "/scenarios/clusters", {}); }),
            "the folder holds no measurements"));
  const auto rows_of = [](const std::string& bytes) { return read_bytes(bytes).rows.size(); };
  std::string wide = "\xff\xfe", returns = kLog;
  for (const char c : kLog) wide += {c, '\0'};
  std::ranges::replace(returns, '\n', '\r');
  CHECK(rows_of(wide) == 2);
  CHECK(rows_of(returns) == 2);
  CHECK(rows_of("NCCL version 2.27\n" + edited(kJson, "{\"version\"", "{\n\"version\"") + "\ndone\n") == 1);
}

TEST_CASE("a fault in JSON below lines of a log is at its line") {
  const std::string torn = edited(kJson, "\"time\": 100.0", "\"time\": \"nan\"");
  CHECK(has(error_of([&] { read_bytes("one\ntwo\n" + torn); }), "all_reduce.txt:10"));
}

}  // namespace shardsim::read_nccl_tests_test
