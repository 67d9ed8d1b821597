#include "base/files.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "tests/base/error_text.h"
#include "tests/base/test_folder.h"

namespace shardsim::files_test {

namespace fs = std::filesystem;

namespace {

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

TEST_CASE("what is not written whole leaves no folder that was made for it") {
  const TestFolder folder;
  const FileSizeLimit full(4'096);
  CHECK_THROWS_AS(write_file(folder / "new/deep/a", std::string(10'000, 'x')), Error);
  CHECK(folder.entries() == 0);
}

TEST_CASE("what is written is read back, byte for byte") {
  const TestFolder folder;
  const std::string text("a\0b\r\n\xff", 6);
  write_file(folder / "x", text);
  CHECK(read_file((folder / "x").string()) == text);
  write_file(folder / "x", "");
  CHECK(read_file((folder / "x").string()).empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("reading names the path and the cause") {
  const TestFolder folder;
  CHECK(has(error_of([&] { read_file((folder / "absent").string()); }), "absent: cannot read it: No such file"));
  CHECK(has(error_of([&] { read_file((folder / ".").string()); }), "cannot read it: Is a directory"));
  CHECK(has(error_of([] { read_file("/dev/zero", 1 << 20); }), "over 1,048,576 bytes"));
  CHECK(has(error_of([] { read_file(""); }), "the name of a file: it is empty"));
}

TEST_CASE("a file of exactly the limit is read, one byte more is not") {
  const TestFolder folder;
  write_file(folder / "x", std::string(1000, 'x'));
  CHECK(read_file((folder / "x").string(), 1000).size() == 1000);
  CHECK_THROWS_AS(read_file((folder / "x").string(), 999), Error);
}

TEST_CASE("a result appears in folders that are made for it, and nothing beside it") {
  const TestFolder folder;
  const fs::path target = folder / "sub/deep/result.json";
  write_file(target, "{}");
  CHECK(read_file(target.string()) == "{}");
  CHECK(std::distance(fs::directory_iterator(target.parent_path()), fs::directory_iterator()) == 1);
}

TEST_CASE("when it cannot be written whole the old result stays and the temporary goes") {
  const TestFolder folder;
  write_file(folder / "x", "old");
  const FileSizeLimit limit(2);
  CHECK(has(error_of([&] { write_file(folder / "x", "new"); }), "x: cannot write it: "));
  CHECK(read_file((folder / "x").string()) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a full disk is a failed run that leaves nothing") {
  const TestFolder folder;
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
  const TestFolder folder;
  const FileSizeLimit limit(10);
  CHECK(has(error_of([&] { write_file(folder / "x", "more than ten bytes"); }), "cannot write it"));
  CHECK(folder.entries() == 0);
}

TEST_CASE("folders and devices are no targets") {
  const TestFolder folder;
  CHECK(has(error_of([&] { write_file(folder / "", "x"); }), "a folder, a pipe or a device"));
  CHECK(has(error_of([] { write_file("/dev/null", "x"); }),
            "/dev/null: cannot write it: it is a folder, a pipe or a device"));
  CHECK(fs::is_character_file("/dev/null"));
  write_file(folder / "file", "x");
  CHECK(has(error_of([&] { write_file(folder / "file/x", "x"); }), "cannot write it"));
}

TEST_CASE("a link is written through") {
  const TestFolder folder;
  write_file(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file((folder / "real").string()) == "new");
}

TEST_CASE("the data folder follows the environment, and a wrong one is an input error") {
  const TestFolder folder;
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
  const TestFolder folder;
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
