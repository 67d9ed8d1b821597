#include "validate/execute/meet/frame.h"

#include <doctest/doctest.h>

namespace shardsim::frame_test {

TEST_CASE("frames come out as they went in, however the bytes are cut") {
  const std::string bytes = encoded({FrameKind::hello, "one"}) + encoded({FrameKind::alive, ""});
  FrameReader reader(100);
  std::vector<Frame> frames;
  for (const char byte : bytes) {
    reader.feed(&byte, 1);
    while (std::optional<Frame> frame = reader.next()) frames.push_back(*frame);
  }
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].kind == FrameKind::hello);
  CHECK(frames[0].text == "one");
  CHECK(frames[1].kind == FrameKind::alive);
  CHECK(frames[1].text.empty());
  CHECK_FALSE(reader.garbled());
}

TEST_CASE("a stranger's bytes are seen as such from the first one that differs") {
  FrameReader reader(100);
  reader.feed("SH", 2);
  CHECK_FALSE(reader.next());
  CHECK_FALSE(reader.garbled());
  reader.feed("TTP/1.1 400", 11);
  CHECK_FALSE(reader.next());
  CHECK(reader.garbled());
}

TEST_CASE("a frame longer than allowed is refused before it is there") {
  const std::string bytes = encoded({FrameKind::hello, std::string(101, 'x')});
  FrameReader reader(100);
  reader.feed(bytes.data(), 24);
  CHECK_FALSE(reader.next());
  CHECK(reader.garbled());
  CHECK(reader.complaint() == "a message of 101 bytes, where 100 are the most");
}

TEST_CASE("a reader has room for one frame of the longest text, until it is taken") {
  const std::string bytes = encoded({FrameKind::hello, std::string(100, 'x')});
  FrameReader reader(100);
  CHECK(reader.room() == bytes.size());
  reader.feed(bytes.data(), bytes.size());
  CHECK(reader.room() == 0);
  CHECK(reader.next());
  CHECK(reader.room() == bytes.size());
}

TEST_CASE("texts packed into one come out again; what is no packed text gives none") {
  const std::vector<std::string> texts = {"a", "", std::string("\0b", 2)};
  CHECK(unpack_texts(pack_texts(texts)) == texts);
  CHECK(unpack_texts("").empty());
  CHECK(unpack_texts("abc").empty());
  CHECK(unpack_texts(pack_texts({"abc"}).substr(0, 9)).empty());
}

}  // namespace shardsim::frame_test
