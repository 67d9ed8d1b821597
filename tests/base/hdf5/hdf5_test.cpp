#include "base/hdf5/hdf5.h"

#include <doctest/doctest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/files.h"
#include "tests/base/error_text.h"
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
  return input_error_of([&] {
    const Hdf5Reader in(path);
    in.reals("/a/b/real");
  });
}

TEST_CASE("what is no HDF5 file is refused by name") {
  const TemporaryFolder folder("hdf5");
  CHECK(refusal(folder / "none.h5").find("none.h5: there is no such file") != std::string::npos);
  CHECK(refusal(folder / ".").find("not a regular file") != std::string::npos);
  write_file(folder / "empty.h5", "");
  CHECK(refusal(folder / "empty.h5").find("empty.h5: cannot be opened as HDF5: ") != std::string::npos);
  write_file(folder / "text.h5", std::string(5000, '\x89') + "HDF");
  CHECK(refusal(folder / "text.h5").find("text.h5: cannot be opened as HDF5: it does not begin as") !=
        std::string::npos);
  write_file(folder / "cut.h5", "\x89HDF\r\n\x1a\n and no more");
  CHECK(refusal(folder / "cut.h5").find("it is cut off or damaged. Write it again") != std::string::npos);
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

// The message of reading a dataset of a file that `make` fills; "" when it can be read.
std::string refusal(const fs::path& path, const std::function<void(hid_t)>& make, bool texts = false) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  make(file);
  H5Fclose(file);
  return error_of([&] {
    const Hdf5Reader in(path);
    texts ? void(in.texts("/set")) : void(in.reals("/set"));
  });
}

void make_set(hid_t file, hsize_t length, hid_t properties) {
  const hid_t space = H5Screate_simple(1, &length, nullptr);
  H5Dclose(H5Dcreate2(file, "/set", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(properties);
}

TEST_CASE("values that a file keeps elsewhere are refused: it could name any file of the machine, or itself") {
  const TemporaryFolder folder("hdf5");
  const fs::path path = folder / "x.h5";
  const auto virtual_set = [&](hid_t file) {
    const hsize_t length = 4;
    const hid_t space = H5Screate_simple(1, &length, nullptr), properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(properties, space, ".", "/set", space);
    H5Sclose(space);
    make_set(file, length, properties);
  };
  CHECK(refusal(path, virtual_set).find("/set is a virtual dataset") != std::string::npos);
  const auto external_set = [&](hid_t file) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, "/etc/hostname", 0, 16);
    make_set(file, 2, properties);
  };
  CHECK(refusal(path, external_set).find("/set keeps its values in other files") != std::string::npos);
  const auto external_link = [&](hid_t file) {
    H5Lcreate_external("other.h5", "/set", file, "/set", H5P_DEFAULT, H5P_DEFAULT);
  };
  Hdf5Writer other;
  other.value<double>("/set", 1, {});
  other.save(folder / "other.h5");
  CHECK(refusal(path, external_link).find("/set is missing") != std::string::npos);
}

// The message of reading a set of 56 values that is stored in such chunks by such filters.
std::string stored(const fs::path& path, hsize_t chunk, const std::function<void(hid_t)>& filters,
                   hsize_t length = 56) {
  return refusal(path, [&](hid_t file) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, &chunk);
    filters(properties);
    const hsize_t most = H5S_UNLIMITED;
    const hid_t space = H5Screate_simple(1, &length, &most);
    const hid_t set = H5Dcreate2(file, "/set", H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (chunk <= hsize_t{1} << 20) {
      const std::vector<double> values(length, 1);
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(properties);
  });
}

TEST_CASE("chunks far larger than their values are refused before they are unpacked") {
  const TemporaryFolder folder("hdf5");
  const auto packed = [](hid_t properties) { H5Pset_deflate(properties, 9); };
  CHECK(stored(folder / "x.h5", (hsize_t{1} << 29) - 1024, packed)
            .find("/set has chunks of 536869888 values of 8 bytes") != std::string::npos);
  CHECK(stored(folder / "x.h5", hsize_t{1} << 22, packed).find("/set has 56 values in chunks with room for 4194304") !=
        std::string::npos);
  CHECK(stored(folder / "x.h5", hsize_t{1} << 18, packed).empty());
  CHECK(stored(folder / "x.h5", hsize_t{1} << 20, packed, hsize_t{1} << 19).empty());
}

TEST_CASE("filters are those that h5py and pandas write, each once") {
  const TemporaryFolder folder("hdf5");
  CHECK(stored(folder / "x.h5", 64, [](hid_t properties) {
          H5Pset_shuffle(properties);
          H5Pset_deflate(properties, 9);
          H5Pset_fletcher32(properties);
        }).empty());
  const auto twice = [](hid_t properties) {
    const unsigned level = 9;
    H5Pset_deflate(properties, 9);
    H5Pset_filter(properties, H5Z_FILTER_DEFLATE, 0, 1, &level);
  };
  CHECK(stored(folder / "x.h5", 64, twice).find("/set is stored with one filter twice. Write it with gzip") !=
        std::string::npos);
  const auto scaled = [](hid_t properties) { H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 2); };
  CHECK(stored(folder / "x.h5", 64, scaled).find("/set is stored with filter 6, which is none of deflate") !=
        std::string::npos);
}

// A set of zeros, all of them written, that take little room in the file.
void make_deflated(hid_t file, hsize_t length) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk = 1 << 20;
  H5Pset_chunk(properties, 1, &chunk);
  H5Pset_deflate(properties, 9);
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
  make_set(file, length, properties);
}

TEST_CASE("a small file that unfolds to more than 1 GiB is refused before it is read") {
  const TemporaryFolder folder("hdf5");
  const auto deflated = [](hid_t file) { make_deflated(file, hsize_t{200} << 20); };
  CHECK(refusal(folder / "x.h5", deflated).find("more than the 1024 MiB") != std::string::npos);
}

TEST_CASE("columns are refused before they are read, one that is not there and those that are too much together") {
  const TemporaryFolder folder("hdf5");
  const hid_t made = H5Fcreate((folder / "x.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  make_deflated(made, hsize_t{60} << 20);
  H5Fclose(made);
  const Hdf5Reader in(folder / "x.h5");
  const auto checked = [&](const std::vector<std::string>& paths, std::size_t row_bytes) {
    return error_of([&] { in.check_columns(paths, row_bytes); });
  };
  CHECK(checked({"/set", "/set"}, 8).empty());
  CHECK(checked({"/set", "/set"}, 8).empty());  // nothing was read, so nothing is counted
  CHECK(checked({"/set", "/set", "/set"}, 8).find("/set: the file's values take more than") != std::string::npos);
  CHECK(checked({"/set"}, 40).find("more than the 1024 MiB") != std::string::npos);
  CHECK(checked({"/set", "/other"}, 8).find("/other is missing") != std::string::npos);
}

TEST_CASE("a long text that is named many times is refused before it takes much memory") {
  const TemporaryFolder folder("hdf5");
  const std::size_t length = 1 << 20, texts = 1000, descriptor = 16;
  const auto first_alone = [&](hid_t file) {
    const hsize_t count = texts;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &count, nullptr);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t set = H5Dcreate2(file, "/set", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const std::string text(length, 'x');
    std::vector<const char*> values(texts, nullptr);
    values[0] = text.c_str();
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
  };
  const fs::path path = folder / "x.h5";
  CHECK(refusal(path, first_alone, true).empty());
  // Where the one text is: its length, then the place in the file. All the others are made to name the same place.
  std::string bytes = read_file(path.string());
  const std::string nothing((texts - 1) * descriptor, '\0');
  const std::size_t others = bytes.find(nothing);
  REQUIRE(others != std::string::npos);
  std::size_t start = others;
  while (bytes.compare(start, 4, std::string("\1\0\x10\0", 4)) != 0 &&
         bytes.compare(start, 4, std::string("\0\0\x10\0", 4)) != 0)
    --start;
  for (std::size_t i = 1; i < texts; ++i) bytes.replace(start + i * descriptor, descriptor, bytes, start, descriptor);
  write_file(path, bytes);
  CHECK(error_of([&] { Hdf5Reader(path).texts("/set"); }).find("more than 64 MiB of text") != std::string::npos);
}

TEST_CASE("objects that are missing or of another type are refused by name") {
  const TemporaryFolder folder("hdf5");
  Hdf5Writer out;
  fill(out, 2);
  out.save(folder / "x.h5");
  const Hdf5Reader in(folder / "x.h5");
  const auto message = [&](auto read) -> std::string { return error_of([&] { read(); }); };
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
