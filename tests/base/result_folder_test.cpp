#include "base/result_folder.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "base/folder_record.h"
#include "tests/base/error_text.h"
#include "tests/base/test_folder.h"

namespace shardsim::result_folder_test {

namespace fs = std::filesystem;

namespace {

const ResultWriter kRun{"shardsim run"}, kWhy{"shardsim why"};

// Not through read_file(), which would note that this process has read it.
std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("files of a folder appear together, over those of an earlier run") {
  const TestFolder folder;
  const fs::path target = folder / "out";
  for (const char* text : {"old", "new"}) {
    write_folder(target, kRun, [&](const fs::path& hidden) {
      write_file(hidden / "x", text);
      write_file(hidden / "sub/y", text);
      CHECK(hidden.parent_path() == target);
      CHECK((text == std::string("old") ? !fs::exists(target / "x") : text_of(target / "x") == "old"));
    });
    CHECK(text_of(target / "x") == text);
    CHECK(text_of(target / "sub/y") == text);
  }
  CHECK(std::distance(fs::directory_iterator(target), fs::directory_iterator()) == 3);  // with the names of both
}

void write_texts(const fs::path& target, const std::vector<std::string>& names) {
  write_folder(target, kRun, [&](const fs::path& hidden) {
    for (const std::string& name : names) write_file(hidden / name, name);
  });
}

TEST_CASE("a folder holds the results of one run: what the run before wrote goes, what others wrote stays") {
  const TestFolder folder;
  const fs::path target = folder / "out";
  write_texts(target, {"x", "trace/a/rank0.json", "trace/b/rank0.json"});
  write_file(target / "notes.txt", "mine");
  write_texts(target, {"x", "trace/b/rank0.json"});
  CHECK(!fs::exists(target / "trace/a"));
  CHECK(fs::exists(target / "trace/b/rank0.json"));
  CHECK(text_of(target / "notes.txt") == "mine");
}

TEST_CASE("a file that no run of ours wrote is not replaced, nor what a link leads to") {
  const TestFolder folder;
  const fs::path target = folder / "out";
  write_file(target / "x", "mine");
  CHECK(has(error_of([&] {
              write_texts(target, {"x", "y"});
            }),
            "out/x: the file exists, and 'shardsim run' is not known to have written it"));
  CHECK(text_of(target / "x") == "mine");
  CHECK(!fs::exists(target / "y"));
  fs::remove(target / "x");
  write_file(folder / "elsewhere", "mine");
  fs::create_symlink(folder / "elsewhere", target / "x");
  CHECK(has(error_of([&] { write_texts(target, {"x"}); }), "not a regular file"));
  fs::create_directory_symlink(folder / "", target / "trace");
  CHECK(has(error_of([&] { write_texts(target, {"trace/y"}); }), "a symbolic link has the name of a result file"));
  CHECK(text_of(folder / "elsewhere") == "mine");
}

TEST_CASE("the names of an earlier run lead nowhere else") {
  const TestFolder folder;
  write_file(folder / "elsewhere", "mine");
  const std::string digest = file_digest(folder / "elsewhere");
  write_file(folder / "out/.shardsim-files", "shardsim files/2\n" + digest + "\tshardsim run\t../elsewhere\n" + digest +
                                                 "\tshardsim run\t" + (folder / "elsewhere").string() + "\n");
  write_texts(folder / "out", {"x"});
  CHECK(fs::exists(folder / "elsewhere"));
}

TEST_CASE("two runs do not write to one folder at a time, and what a killed one left is removed") {
  const TestFolder folder;
  const fs::path target = folder / "out";
  write_file(target / ".shardsim-run-abcdef/x", "half");
  write_folder(target, kRun, [&](const fs::path& hidden) {
    write_file(hidden / "x", "first");
    CHECK(has(error_of([&] { write_texts(target, {"x"}); }), "another run is writing its results there now"));
  });
  CHECK(text_of(target / "x") == "first");
  CHECK(!fs::exists(target / ".shardsim-run-abcdef"));
}

TEST_CASE("a folder that is not filled is left as it was, and the error names it") {
  const TestFolder folder;
  const auto fail = [](const fs::path& hidden) {
    write_file(hidden / "x", "new");
    throw cannot_write(hidden / "y", "no space");
  };
  CHECK(has(error_of([&] { write_folder(folder / "out", kRun, fail); }),
            (folder / "out/y").string() + ": cannot write it"));
  CHECK(folder.entries() == 0);
  write_file(folder / "out/x", "old");
  CHECK(has(error_of([&] { write_folder(folder / "out", kRun, fail); }), "no space"));
  CHECK(text_of(folder / "out/x") == "old");
}

TEST_CASE("commands share a folder: each replaces its own files and leaves those of others") {
  const TestFolder folder;
  const fs::path out = folder / "out";
  write_texts(out, {"result.json", "trace/rank0.json"});
  write_folder(out, kWhy, [&](const fs::path& hidden) { write_file(hidden / "why.json", "why"); });
  CHECK(text_of(out / "result.json") == "result.json");
  write_texts(out, {"result.json"});
  CHECK(text_of(out / "why.json") == "why");
  CHECK(!fs::exists(out / "trace"));
}

TEST_CASE("a file that another command wrote is replaced with --force alone, and then is this command's") {
  const TestFolder folder;
  const fs::path out = folder / "out";
  write_texts(out, {"report.html", "x"});
  const auto write = [](const fs::path& hidden) { write_file(hidden / "report.html", "other"); };
  CHECK(has(
      error_of([&] { write_folder(out, kWhy, write); }),
      "out/report.html: the file exists, and 'shardsim run' wrote it. Choose another name with -o, or add --force"));
  CHECK(text_of(out / "report.html") == "report.html");
  write_folder(out, {"shardsim why", true}, write);
  CHECK(text_of(out / "report.html") == "other");
  CHECK(text_of(out / "x") == "x");
  CHECK(has(error_of([&] { write_texts(out, {"report.html"}); }), "'shardsim why' wrote it"));
}

TEST_CASE("a file that was changed since it was written is neither replaced nor removed without --force") {
  const TestFolder folder;
  const fs::path out = folder / "out";
  write_texts(out, {"workload.yaml", "plan.json"});
  write_file(out / "plan.json", "by hand");
  const char* const changed = "out/plan.json: the file has changed since 'shardsim run' wrote it";
  CHECK(has(error_of([&] { write_texts(out, {"workload.yaml", "plan.json"}); }), changed));
  CHECK(has(error_of([&] { write_texts(out, {"workload.yaml"}); }), changed));  // it would remove the other one
  CHECK(has(error_of([&] { check_results(out, kRun, {}); }), changed));
  CHECK(text_of(out / "plan.json") == "by hand");
  fs::remove(out / "plan.json");
  write_file(out / "plan.json", "plan.json");  // as it was
  write_texts(out, {"workload.yaml"});
  CHECK(!fs::exists(out / "plan.json"));
}

TEST_CASE("a file that the process has read is not replaced, --force or not, under whatever name it was read") {
  const TestFolder folder;
  const fs::path out = folder / "out";
  const ResultWriter force{"shardsim run", true};
  write_texts(out, {"x", "y"});
  fs::create_symlink("out/x", folder / "alias");
  read_file((folder / "alias").string());
  const auto write = [](const fs::path& hidden) { write_file(hidden / "x", "new"); };
  CHECK(has(error_of([&] { write_folder(out, force, write); }), "out/x: this command has read the file"));
  CHECK(has(error_of([&] { write_result(folder / "alias", force, "new"); }), "out/x: this command has read the file"));
  CHECK(has(error_of([&] { write_texts(out, {"y"}); }), "out/x: this command has read the file"));  // would remove it
  CHECK(text_of(out / "x") == "x");
}

TEST_CASE("no name of an earlier run is removed through a linked folder") {
  const TestFolder folder;
  const fs::path out = folder / "out";
  write_texts(out, {"x", "trace/rank0.json"});
  fs::rename(out / "trace", folder / "moved");
  fs::create_directory_symlink(folder / "moved", out / "trace");
  write_texts(out, {"x"});
  CHECK(text_of(folder / "moved/rank0.json") == "trace/rank0.json");
  CHECK(fs::is_symlink(out / "trace"));
}

TEST_CASE("a named file is replaced by the command that wrote it as long as nobody changed it") {
  const TestFolder folder;
  const fs::path plan = folder / "deep/plan.json";
  const ResultWriter writer{"shardsim plan"}, other{"shardsim lower"};
  write_result(plan, writer, "1");
  write_result(plan, writer, "2");
  CHECK(text_of(plan) == "2");
  fs::remove(plan);
  write_result(plan, writer, "2");
  CHECK(has(error_of([&] { write_result(plan, other, "3"); }),
            "plan.json: the file exists, and 'shardsim plan' wrote it"));
  write_file(plan, "edited");
  CHECK(has(error_of([&] { check_result(plan, writer); }),
            "plan.json: the file has changed since 'shardsim plan' wrote"));
  write_result(plan, {"shardsim plan", true}, "4");
  write_result(folder / "deep/program.json", other, "5");  // what is beside it stays as it is
  CHECK(text_of(plan) == "4");
}

TEST_CASE("a link as the name of a result stands for the file that it leads to") {
  const TestFolder folder;
  write_file(folder / "real", "mine");
  fs::create_symlink("real", folder / "link");
  CHECK(has(error_of([&] { write_result(folder / "link", kRun, "new"); }),
            "real: the file exists, and 'shardsim run' is not"));
  write_result(folder / "link", {"shardsim run", true}, "new");
  CHECK(fs::is_symlink(folder / "link"));
  write_result(folder / "link", kRun, "newer");
  CHECK(text_of(folder / "real") == "newer");
}

TEST_CASE("what is no file in the place of the record is told as such, --force or not") {
  const TestFolder folder;
  const fs::path out = folder / "out";
  fs::create_directories(out / FolderRecord::kFile);
  const std::string told = "out/.shardsim-files: something that is no file is in the way of results. Remove it";
  CHECK(has(error_of([&] { write_texts(out, {"x"}); }), told));
  CHECK(has(error_of([&] { check_results(out, {"shardsim run", true}, {"x"}); }), told));
  CHECK(has(error_of([&] { write_result(out / "x", {"shardsim plan", true}, "1"); }), told));
  CHECK(!fs::exists(out / "x"));
}

TEST_CASE("names with tabs and line ends are recorded, too") {
  const TestFolder folder;
  const std::string name = "a\tb\nc%0ad";
  write_result(folder / name, kRun, "1");
  write_result(folder / name, kRun, "2");
  CHECK(text_of(folder / name) == "2");
}

}  // namespace shardsim::result_folder_test
