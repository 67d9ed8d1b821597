#include "base/workers.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <new>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/packed.h"
#include "base/read_files.h"
#include "tests/base/error_text.h"
#include "tests/base/test_folder.h"

namespace shardsim::workers_test {
namespace {

WorkerTask says(const std::string& text, double weight = 1) {
  return {text, [text] { return text; }, weight};
}

WorkerTask fails(const std::string& text) {
  return {text, [text]() -> std::string { throw run_error(text, ""); }};
}

std::string failure_of(const std::vector<WorkerTask>& tasks, int jobs) {
  return error_of([&] { run_in_workers(tasks, {jobs, {}, {}}); });
}

}  // namespace

TEST_CASE("results stand in task order, whichever begin first") {
  for (const int jobs : {1, 2, 8}) {
    const std::vector<WorkerTask> tasks{says("a", 1), says("b", 5), says("c", 3), says("d", 5)};
    CHECK(run_in_workers(tasks, {jobs, {}, {}}) == std::vector<std::string>{"a", "b", "c", "d"});
  }
}

TEST_CASE("the heaviest tasks begin first, of equal ones the first; a result is taken as soon as it is there") {
  std::string order;
  std::vector<WorkerTask> tasks{says("a", 1), says("b", 5), says("c", 3), says("d", 5)};
  for (WorkerTask& task : tasks) task.taken = [&order](std::string_view bytes) { order += bytes; };
  const std::vector<std::string> results = run_in_workers(tasks, {1, {}, {}});
  CHECK(order == "bdca");
  CHECK(results == std::vector<std::string>(4));
}

TEST_CASE("results arrive whole, of no byte and of many more than a pipe holds") {
  const std::vector<std::string> texts{"", std::string(5'000'001, 'x'), "y", std::string(1 << 20, 'z')};
  std::vector<WorkerTask> tasks;
  for (const std::string& text : texts) tasks.push_back(says(text));
  for (WorkerTask& task : tasks) task.name = "a task";
  CHECK(run_in_workers(tasks, {2, {}, {}}) == texts);
}

TEST_CASE("what a worker has read counts as read by the process that asked for it, also where it failed") {
  const TestFolder folder;
  const std::string read = (folder / "read").string(), failed = (folder / "failed").string(),
                    other = (folder / "other").string();
  for (const std::string& path : {read, failed, other}) write_file(path, "x");
  const auto reads = [](const std::string& path, bool fails) {
    return WorkerTask{path, [path, fails] {
                        std::string text = read_file(path);
                        if (fails) throw run_error("wrong", "");
                        return text;
                      }};
  };
  std::vector<WorkerTask> tasks{reads(read, false), reads(failed, true)};
  tasks.back().failed = [](const Error&) {};
  CHECK(run_in_workers(tasks, {2, {}, {}}).front() == "x");
  CHECK(was_read(read));
  CHECK(was_read(failed));
  CHECK_FALSE(was_read(other));
}

TEST_CASE("of several failures the first in task order is told, for any number of processes") {
  for (const int jobs : {1, 2, 8}) {
    std::vector<WorkerTask> tasks{says("a"), fails("first"), fails("second"), says("d")};
    tasks[2].weight = 9;
    CHECK(failure_of(tasks, jobs).find("first") != std::string::npos);
  }
}

TEST_CASE("a worker without memory says so with its name, and what helps") {
  const WorkerTask greedy{"greedy", []() -> std::string { throw std::bad_alloc(); }};
  CHECK(failure_of({greedy}, 1) == std::string("greedy: ") + out_of_memory().what());
}

TEST_CASE("a worker may have workers of its own") {
  const auto outer = [] { return run_in_workers({says("inner")}, {}).front(); };
  CHECK(run_in_workers({{"outer", outer}}, {}).front() == "inner");
}

TEST_CASE("without a number of processes there are as many as processors") {
  CHECK(processors() >= 1);
  CHECK(WorkerOptions{}.jobs == processors());
}

TEST_CASE("values come back equal from their packed form; bytes that do not add up are refused") {
  const std::vector<std::optional<std::string>> values{"one", std::nullopt, ""};
  const std::string bytes = packed(values);
  CHECK(unpacked<std::vector<std::optional<std::string>>>(bytes) == values);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(unpacked<std::vector<std::optional<std::string>>>(bytes.substr(0, size)), Error);
  }
  CHECK_THROWS_AS(unpacked<std::vector<std::optional<std::string>>>(bytes + "x"), Error);
  CHECK(unpacked<double>(packed(0.1 + 0.2)) == 0.1 + 0.2);
}

TEST_CASE("a failure that somebody takes ends nothing but itself, a process that dies too") {
  std::vector<std::string> failures;
  WorkerTask wrong = fails("wrong"), dies{"dies", []() -> std::string { return ::raise(SIGKILL), ""; }};
  wrong.failed = dies.failed = [&](const Error& error) { failures.push_back(error.what()); };
  bool taken = false;
  wrong.taken = [&](std::string_view) { taken = true; };
  const std::vector<std::string> results = run_in_workers({says("a"), wrong, dies, says("b")}, {1, {}, {}});
  CHECK(results == std::vector<std::string>{"a", "", "", "b"});
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].find("wrong") != std::string::npos);
  CHECK(failures[1].find("died") != std::string::npos);
  CHECK(!taken);
  CHECK(failure_of({fails("first"), wrong}, 1).find("first") != std::string::npos);
}

}  // namespace shardsim::workers_test
