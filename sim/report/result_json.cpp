#include "sim/report/result_json.h"

#include <nlohmann/json.hpp>

#include "base/tree/json_fields.h"
#include "sim/study/result_fields.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kResultSchema = "shardsim.result/1";

}  // namespace

std::string result_to_json(const StudyResult& study) {
  Json json = {{"schema", kResultSchema}};
  JsonWriter::write(JsonSlot(json), study);
  check_finite(json, "result.json");
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

StudyResult result_from_tree(const Tree& tree) {
  JsonReader reader(tree, "", JsonReader::Keys::any);
  reader.constant("schema", kResultSchema);
  StudyResult study;
  fields(reader, study);
  return study;
}

}  // namespace shardsim
