#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "topology/import/nccl_elements.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostNesting = 64;

// The fault in a document, in clearer words where Expat's own need a hint.
std::string fault_of(XML_Error code) {
  switch (code) {
    case XML_ERROR_NO_ELEMENTS:
      return "no element at all";
    case XML_ERROR_SYNTAX:
      return "text outside the root element";
    case XML_ERROR_JUNK_AFTER_DOC_ELEMENT:
      return "text or a second root element behind the first";
    case XML_ERROR_INVALID_TOKEN:
      return "a character that has no place here: a value that is not in quotes, or a byte that no text has";
    case XML_ERROR_DUPLICATE_ATTRIBUTE:
      return "an attribute is twice";
    case XML_ERROR_UNCLOSED_TOKEN:
      return "a tag, a comment or a value is not closed";
    default:
      return XML_ErrorString(code);
  }
}

// Expat's callbacks may not throw: what they refuse is kept until parsing has stopped.
class XmlReader {
 public:
  explicit XmlReader(const std::string& source) : source_(source) {
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const char* name, const char** attributes) {
          static_cast<XmlReader*>(self)->start(name, attributes);
        },
        [](void* self, const char*) { static_cast<XmlReader*>(self)->end(); });
    XML_SetStartDoctypeDeclHandler(
        parser_.get(), [](void* self, const char*, const char*, const char*, int has_definitions) {
          if (has_definitions != 0)
            static_cast<XmlReader*>(self)->stop("a DOCTYPE with definitions of its own is not read");
        });
  }

  XmlElement read(std::string_view text) {
    const auto status = XML_Parse(parser_.get(), text.data(), static_cast<int>(text.size()), XML_TRUE);
    if (status == XML_STATUS_OK) return std::move(open_.front().children.front());
    if (fault_.empty()) find_fault(XML_GetErrorCode(parser_.get()));
    throw input_error(fault_place_, "malformed XML: " + fault_, "Is the file complete and unchanged?");
  }

 private:
  Place place() const {
    return {source_, static_cast<int>(XML_GetCurrentLineNumber(parser_.get())),
            static_cast<int>(XML_GetCurrentColumnNumber(parser_.get())) + 1};
  }

  void start(const char* name, const char** attributes) {
    if (open_.size() > kMostNesting) return stop(fmt::format("nested over {} deep", kMostNesting));
    open_.push_back({name, {}, {}, place()});
    for (; *attributes != nullptr; attributes += 2) open_.back().attributes.emplace_back(attributes[0], attributes[1]);
  }

  void end() {
    XmlElement done = std::move(open_.back());
    open_.pop_back();
    open_.back().children.push_back(std::move(done));
  }

  void stop(std::string fault) {
    fault_ = std::move(fault);
    fault_place_ = place();
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void find_fault(XML_Error code) {
    fault_ = fault_of(code);
    fault_place_ = place();
    if (open_.size() < 2) return;
    const XmlElement& last = open_.back();
    if (code == XML_ERROR_TAG_MISMATCH) fault_ = fmt::format("</{}> of line {} is due", last.name, last.place.line);
    if (code != XML_ERROR_NO_ELEMENTS) return;
    fault_ = fmt::format("<{}> is not closed", last.name);
    fault_place_ = last.place;
  }

  const std::string& source_;
  std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_{XML_ParserCreate("UTF-8"), XML_ParserFree};
  std::vector<XmlElement> open_ = std::vector<XmlElement>(1);  // the document, then every element not yet closed
  std::string fault_;
  Place fault_place_;
};

}  // namespace

const std::string* XmlElement::attribute(std::string_view key) const {
  const auto found = std::ranges::find(attributes, key, [](const auto& a) -> std::string_view { return a.first; });
  return found == attributes.end() ? nullptr : &found->second;
}

XmlElement parse_xml(std::string_view text, const std::string& source) {
  return XmlReader(source).read(text);
}

}  // namespace shardsim
