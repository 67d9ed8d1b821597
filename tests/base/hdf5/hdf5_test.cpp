#include "base/hdf5/hdf5.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "tests/temporary_folder.h"

namespace shardsim::hdf5_test {
namespace {

namespace fs = std::filesystem;

void fill(Hdf5Writer& out, std::size_t length) {
  out.scale<std::int64_t>("/a/b/row", length, {"1", "row"}, Hdf5Layout::packed);
  std::vector<double> reals(length);
  for (std::size_t i = 0; i < length; ++i) reals[i] = 1.0 / (1.0 + static_cast<double>(i));
  out.dataset<double>("/a/b/real", reals, {"/a/b/row"}, {"ms", "some time"}, Hdf5Layout::packed);
  out.texts("/a/b/text", std::vector<std::string>(length, "µ"), "/a/b/row", {});
  out.text_attribute("/a", "note", "two\nlines");
  out.attribute("/a", "seed", std::uint64_t{7});
}

TEST_CASE("values, texts and attributes come back as written") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  fill(out, 3);
  const std::vector<std::int64_t> table = {1, 2, 3, 4, 5, (std::int64_t{1} << 53) + 1};
  out.scale<std::int32_t>("/two", 2, {});
  out.dataset<std::int64_t>("/table", table, {"/two", "/a/b/row"}, {"B", ""});
  out.value<double>("/one", 0.1, {"s", ""});
  out.save(folder / "x.h5");

  const Hdf5Reader in(folder / "x.h5");
  CHECK(in.reals("/a/b/real") == std::vector<double>{1.0, 0.5, 1.0 / 3.0});
  CHECK(in.texts("/a/b/text") == std::vector<std::string>(3, "µ"));
  CHECK(in.integers("/a/b/row") == std::vector<std::int64_t>{0, 1, 2});
  CHECK(in.integers("/table") == table);
  CHECK(in.shape("/table") == std::vector<std::size_t>{2, 3});
  CHECK(in.shape("/one").empty());
  CHECK(in.reals("/one") == std::vector<double>{0.1});
  CHECK(in.text_attribute("/a", "note") == "two\nlines");
  CHECK(in.text_attribute("/a/b/real", "units") == "ms");
  CHECK(in.integer_attribute("/a", "seed") == 7);
  CHECK(in.has("/a/b/row"));
  CHECK_FALSE(in.has("/a/c/row"));
}

TEST_CASE("axes without values, texts without letters and texts over 64 KiB come back too") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  fill(out, 0);
  out.text_attribute("/", "empty", "");
  out.text_attribute("/", "long", std::string(300000, 'x'));  // HDF5 keeps at most 64 KiB beside an object's header
  out.scale<std::int32_t>("/n", 2, {});
  out.texts("/names", {"", "b"}, "/n", {});
  out.save(folder / "x.h5");

  const Hdf5Reader in(folder / "x.h5");
  CHECK(in.reals("/a/b/real").empty());
  CHECK(in.texts("/a/b/text").empty());
  CHECK(in.text_attribute("/", "empty").empty());
  CHECK(in.text_attribute("/", "long") == std::string(300000, 'x'));
  CHECK(in.texts("/names") == std::vector<std::string>{"", "b"});
}

TEST_CASE("the same calls give the same bytes, also in another second") {
  const TemporaryFolder folder("hdf5");
  for (const char* name : {"a.h5", "b.h5"}) {
    Hdf5Writer out;
    fill(out, 100000);
    out.save(folder / name);
    if (std::string(name) == "a.h5") usleep(1'100'000);
  }
  CHECK(read_file((folder / "a.h5").string()) == read_file((folder / "b.h5").string()));
}

TEST_CASE("packed columns take less room than plain ones") {
  const TemporaryFolder folder("hdf5");
  for (const auto& [name, layout] : {std::pair("plain.h5", Hdf5Layout::plain), {"packed.h5", Hdf5Layout::packed}}) {
    Hdf5Writer out;
    out.scale<std::int64_t>("/row", 200000, {}, layout);
    out.save(folder / name);
  }
  CHECK(fs::file_size(folder / "plain.h5") > 200000 * 8);
  CHECK(fs::file_size(folder / "packed.h5") < 200000 * 4);
}

TEST_CASE("values that do not match their axes are our own mistake") {
  Hdf5Writer out;
  out.scale<std::int32_t>("/row", 3, {});
  const std::vector<double> two = {1, 2};
  CHECK_THROWS_AS(out.dataset<double>("/x", two, {"/row"}, {}), std::logic_error);
  CHECK_THROWS_AS(out.texts("/y", {"a"}, "/row", {}), std::logic_error);
  CHECK_THROWS_AS(out.dataset<double>("/z", two, {"/no_scale"}, {}), Error);
}

TEST_CASE("a disk that is full gives an error that names the file, and leaves the old file alone") {
  const TemporaryFolder folder("hdf5");
  write_file(folder / "x.h5", "old");
  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20000, old_limit.rlim_max};
  std::string message;
  setrlimit(RLIMIT_FSIZE, &small);
  try {
    Hdf5Writer out;
    fill(out, 100000);
    out.save(folder / "x.h5");
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.failure() == Failure::run);
  }
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  CHECK(message.find("x.h5") != std::string::npos);
  CHECK(read_file((folder / "x.h5").string()) == "old");
  CHECK(folder.files() == 1);
}

std::string refusal(const fs::path& path) {
  try {
    const Hdf5Reader in(path);
    in.reals("/a/b/real");
    return "";
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::input);
    return error.what();
  }
}

TEST_CASE("what is no HDF5 file is refused by name") {
  const TemporaryFolder folder("hdf5");
  CHECK(refusal(folder / "none.h5").find("none.h5: there is no such file") != std::string::npos);
  CHECK(refusal(folder / ".").find("no plain file") != std::string::npos);
  write_file(folder / "empty.h5", "");
  CHECK(refusal(folder / "empty.h5").find("empty.h5: cannot be opened as HDF5: ") != std::string::npos);
  write_file(folder / "text.h5", std::string(5000, '\x89') + "HDF");
  CHECK(refusal(folder / "text.h5").find("text.h5: cannot be opened as HDF5: ") != std::string::npos);
  CHECK(refusal(folder / "text.h5").find('\n') == std::string::npos);
}

TEST_CASE("a file cut short anywhere is refused") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  fill(out, 1000);
  out.save(folder / "x.h5");
  const std::string whole = read_file((folder / "x.h5").string());
  REQUIRE(refusal(folder / "x.h5").empty());
  for (std::size_t size = 0; size < whole.size(); size += 997) {
    write_file(folder / "cut.h5", std::string_view(whole).substr(0, size));
    CHECK_FALSE(refusal(folder / "cut.h5").empty());
  }
}

// The library itself crashes on some of these, and takes others as they are.
TEST_CASE("a file with any byte changed is refused") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  out.value<double>("/one", 0.1, {"s", ""});
  out.save(folder / "x.h5");
  const std::string whole = read_file(folder / "x.h5");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    write_file(folder / "x.h5", damaged);
    CHECK_THROWS_AS(Hdf5Reader(folder / "x.h5", Hdf5Origin::shardsim), Error);
  }
}

TEST_CASE("a file of others has no checksum, and is read where that is allowed") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  out.value<double>("/one", 0.1, {"s", ""});
  out.save(folder / "x.h5");
  const std::string whole = read_file(folder / "x.h5");
  write_file(folder / "x.h5", whole.substr(0, whole.rfind("\nshardsim crc32")));
  CHECK(Hdf5Reader(folder / "x.h5").reals("/one") == std::vector<double>{0.1});
  CHECK_THROWS_AS(Hdf5Reader(folder / "x.h5", Hdf5Origin::shardsim), Error);
}

TEST_CASE("objects that are missing or of another type are refused by name") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  fill(out, 2);
  out.save(folder / "x.h5");
  const Hdf5Reader in(folder / "x.h5");
  const auto message = [&](auto read) -> std::string {
    try {
      read();
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(message([&] { in.reals("/nothing"); }).find("x.h5: /nothing is missing") != std::string::npos);
  CHECK(message([&] { in.reals("/a/b"); }).find("/a/b is no dataset") != std::string::npos);
  CHECK(message([&] { in.reals("/a/b/row"); }).find("/a/b/row does not hold real numbers") != std::string::npos);
  CHECK(message([&] { in.integers("/a/b/real"); }).find("does not hold whole numbers") != std::string::npos);
  CHECK(message([&] { in.texts("/a/b/real"); }).find("does not hold texts") != std::string::npos);
  CHECK(message([&] { in.text_attribute("/a", "x"); }).find("attribute x of /a is missing") != std::string::npos);
  CHECK(message([&] { in.text_attribute("/a", "seed"); }).find("is no text") != std::string::npos);
  CHECK(message([&] { in.integer_attribute("/a", "note"); }).find("is no whole number") != std::string::npos);
}

}  // namespace
}  // namespace shardsim::hdf5_test
