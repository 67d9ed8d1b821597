#include "base/files.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/result_folder.h"
#include "tests/base/error_text.h"

namespace shardsim::files_test {

namespace fs = std::filesystem;

namespace {

// A folder of its own for each test, gone afterwards.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "shardsim_files_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

// As a full disk: writes past `bytes` fail. Lifted at the end of the scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("files that belong together appear together, or none does") {
  const Folder folder;
  write_files({{folder / "new/deep/a", "1"}, {folder / "new/deep/b", "2"}});
  CHECK(read_file((folder / "new/deep/b").string()) == "2");
  fs::remove_all(folder / "new");
  const std::string large(10'000, 'x');
  const FileSizeLimit full(4'096);
  CHECK_THROWS_AS(write_files({{folder / "new/deep/a", "1"}, {folder / "new/deep/b", large}}), Error);
  CHECK_THROWS_AS(write_files({{folder / "new/deep/a", large}, {folder / "new/other/b", "2"}}), Error);
  CHECK_THROWS_AS(write_file(folder / "new/deep/a", large), Error);
  CHECK(folder.entries() == 0);
}

TEST_CASE("what is written is read back, byte for byte") {
  const Folder folder;
  const std::string text("a\0b\r\n\xff", 6);
  write_file(folder / "x", text);
  CHECK(read_file((folder / "x").string()) == text);
  write_file(folder / "x", "");
  CHECK(read_file((folder / "x").string()).empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("reading names the path and the cause") {
  const Folder folder;
  CHECK(has(error_of([&] { read_file((folder / "absent").string()); }), "absent: cannot read it: No such file"));
  CHECK(has(error_of([&] { read_file((folder / ".").string()); }), "cannot read it: Is a directory"));
  CHECK(has(error_of([] { read_file("/dev/zero", 1 << 20); }), "over 1,048,576 bytes"));
  CHECK(has(error_of([] { read_file(""); }), "the name of a file: it is empty"));
}

TEST_CASE("a file of exactly the limit is read, one byte more is not") {
  const Folder folder;
  write_file(folder / "x", std::string(1000, 'x'));
  CHECK(read_file((folder / "x").string(), 1000).size() == 1000);
  CHECK_THROWS_AS(read_file((folder / "x").string(), 999), Error);
}

TEST_CASE("a result appears in folders that are made for it, and nothing beside it") {
  const Folder folder;
  const fs::path target = folder / "sub/deep/result.json";
  write_file(target, "{}");
  CHECK(read_file(target.string()) == "{}");
  CHECK(std::distance(fs::directory_iterator(target.parent_path()), fs::directory_iterator()) == 1);
}

TEST_CASE("when it cannot be written whole the old result stays and the temporary goes") {
  const Folder folder;
  write_file(folder / "x", "old");
  const FileSizeLimit limit(2);
  CHECK(has(error_of([&] { write_file(folder / "x", "new"); }), "x: cannot write it: "));
  CHECK(read_file((folder / "x").string()) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("files of a folder appear together, over those of an earlier run") {
  const Folder folder;
  const fs::path target = folder / "out";
  for (const char* text : {"old", "new"}) {
    write_folder(target, [&](const fs::path& hidden) {
      write_file(hidden / "x", text);
      write_file(hidden / "sub/y", text);
      CHECK(hidden.parent_path() == target);
      CHECK((text == std::string("old") ? !fs::exists(target / "x") : read_file((target / "x").string()) == "old"));
    });
    CHECK(read_file((target / "x").string()) == text);
    CHECK(read_file((target / "sub/y").string()) == text);
  }
  CHECK(std::distance(fs::directory_iterator(target), fs::directory_iterator()) == 3);  // with the names of both
}

void write_texts(const fs::path& target, const std::vector<std::string>& names) {
  write_folder(target, [&](const fs::path& hidden) {
    for (const std::string& name : names) write_file(hidden / name, name);
  });
}

TEST_CASE("a folder holds the results of one run: what the run before wrote goes, what others wrote stays") {
  const Folder folder;
  const fs::path target = folder / "out";
  write_texts(target, {"x", "trace/a/rank0.json", "trace/b/rank0.json"});
  write_file(target / "notes.txt", "mine");
  write_texts(target, {"x", "trace/b/rank0.json"});
  CHECK(!fs::exists(target / "trace/a"));
  CHECK(fs::exists(target / "trace/b/rank0.json"));
  CHECK(read_file((target / "notes.txt").string()) == "mine");
}

TEST_CASE("a file that no run of ours wrote is not replaced, nor what a link leads to") {
  const Folder folder;
  const fs::path target = folder / "out";
  write_file(target / "x", "mine");
  CHECK(has(error_of([&] { write_texts(target, {"x", "y"}); }), "out/x: this file was not written by an earlier run"));
  CHECK(read_file((target / "x").string()) == "mine");
  CHECK(!fs::exists(target / "y"));
  fs::remove(target / "x");
  write_file(folder / "elsewhere", "mine");
  fs::create_symlink(folder / "elsewhere", target / "x");
  CHECK(has(error_of([&] { write_texts(target, {"x"}); }), "not a regular file"));
  fs::create_directory_symlink(folder / "", target / "trace");
  CHECK(has(error_of([&] { write_texts(target, {"trace/y"}); }), "a symbolic link has the name of a result file"));
  CHECK(read_file((folder / "elsewhere").string()) == "mine");
}

TEST_CASE("the names of an earlier run lead nowhere else") {
  const Folder folder;
  write_file(folder / "elsewhere", "mine");
  write_file(folder / "out/.shardsim-files", "../elsewhere\n" + (folder / "elsewhere").string() + "\n");
  write_texts(folder / "out", {"x"});
  CHECK(fs::exists(folder / "elsewhere"));
}

TEST_CASE("two runs do not write to one folder at a time, and what a killed one left is removed") {
  const Folder folder;
  const fs::path target = folder / "out";
  write_file(target / ".shardsim-run-abcdef/x", "half");
  write_folder(target, [&](const fs::path& hidden) {
    write_file(hidden / "x", "first");
    CHECK(has(error_of([&] { write_texts(target, {"x"}); }), "another run is writing its results there now"));
  });
  CHECK(read_file((target / "x").string()) == "first");
  CHECK(!fs::exists(target / ".shardsim-run-abcdef"));
}

TEST_CASE("a folder that is not filled is left as it was, and the error names it") {
  const Folder folder;
  const auto fail = [](const fs::path& hidden) {
    write_file(hidden / "x", "new");
    throw cannot_write(hidden / "y", "no space");
  };
  CHECK(has(error_of([&] { write_folder(folder / "out", fail); }), (folder / "out/y").string() + ": cannot write it"));
  CHECK(folder.entries() == 0);
  write_file(folder / "out/x", "old");
  CHECK(has(error_of([&] { write_folder(folder / "out", fail); }), "no space"));
  CHECK(read_file((folder / "out/x").string()) == "old");
}

TEST_CASE("a full disk is a failed run that leaves nothing") {
  const Folder folder;
  const FileSizeLimit limit(50'000);
  try {
    write_file(folder / "x", std::string(100'000, 'x'));
    FAIL("nothing thrown");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::run);
    CHECK(has(error.what(), "x: cannot write it: "));
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("a small text on a full disk fails at the flush") {
  const Folder folder;
  const FileSizeLimit limit(10);
  CHECK(has(error_of([&] { write_file(folder / "x", "more than ten bytes"); }), "cannot write it"));
  CHECK(folder.entries() == 0);
}

TEST_CASE("folders and devices are no targets") {
  const Folder folder;
  CHECK(has(error_of([&] { write_file(folder / "", "x"); }), "a folder, a pipe or a device"));
  CHECK(has(error_of([] { write_file("/dev/null", "x"); }),
            "/dev/null: cannot write it: it is a folder, a pipe or a device"));
  CHECK(fs::is_character_file("/dev/null"));
  write_file(folder / "file", "x");
  CHECK(has(error_of([&] { write_file(folder / "file/x", "x"); }), "cannot write it"));
}

TEST_CASE("a link is written through") {
  const Folder folder;
  write_file(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file((folder / "real").string()) == "new");
}

TEST_CASE("the data folder follows the environment, and a wrong one is an input error") {
  const Folder folder;
  ::setenv("SHARDSIM_DATA", (folder / "").c_str(), 1);
  CHECK(has(error_of([] { data_folder(); }), "holds no folder scenarios"));
  fs::create_directories(folder / "scenarios" / "clusters");
  CHECK(data_folder() == folder / "");
  ::setenv("SHARDSIM_DATA", (folder / "absent").c_str(), 1);
  CHECK(has(error_of([] { data_folder(); }), "environment variable SHARDSIM_DATA: "));
  ::unsetenv("SHARDSIM_DATA");
  CHECK(fs::is_directory(data_folder() / "scenarios"));
}

TEST_CASE("what cannot be looked at is not there") {
  const Folder folder;
  const std::string too_long(400, 'x');
  CHECK_FALSE(is_there(folder / too_long));
  CHECK_FALSE(is_file(folder / too_long));
  CHECK_FALSE(is_folder(folder / too_long));
  write_file(folder / "file", "x");
  CHECK(is_file(folder / "file"));
  CHECK_FALSE(is_folder(folder / "file"));
  CHECK(is_folder(folder / ""));
  CHECK(has(error_of([&] { write_file(folder / too_long, "x"); }), "cannot write it: File name too long"));
}

}  // namespace shardsim::files_test
