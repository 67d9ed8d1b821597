#include "base/schema/json_schema.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/schema/number_pattern.h"
#include "base/text.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDraft = "https://json-schema.org/draft/2020-12/schema";
constexpr std::int64_t kMostCount = (std::int64_t{1} << 53) - 1;

Json as_json(double number) {
  constexpr double kExact = 0x1p53;
  if (number == std::floor(number) && std::fabs(number) <= kExact) return static_cast<std::int64_t>(number);
  return number;
}

void put_bounds(const Bounds& bounds, Json& schema) {
  const auto put = [&](const char* key, double number) {
    if (std::isfinite(number)) schema[key] = as_json(number);
  };
  put(bounds.without_least ? "exclusiveMinimum" : "minimum", bounds.least);
  put(bounds.without_most ? "exclusiveMaximum" : "maximum", bounds.most);
}

Json quantity(const char* title, const Form& form, UnitsOf units, const char* example) {
  return {{"title", title},
          {"type", "string"},
          {"pattern", quantity_pattern(form.bounds, units)},
          {"examples", Json::array({example})}};
}

// A number, or a text that the reader takes for one: YAML 1.1 has no number 1e6.
Json number(const std::string& title, const char* type, const Bounds& bounds, const std::string& pattern) {
  const std::string range = bounds.text();
  Json schema{{"title", title + (range.empty() ? "" : ", " + range)}, {"type", Json::array({type, "string"})}};
  put_bounds(bounds, schema);
  schema["pattern"] = pattern;
  return schema;
}

Json count_schema(Bounds bounds) {
  bounds.most = std::min(bounds.most, static_cast<double>(kMostCount));
  return number("a whole number", "integer", bounds, count_pattern(bounds));
}

// Texts that YAML may take for numbers have bounds.
Json pattern_schema(const Form& form) {
  Json schema{{"type", "string"}, {"pattern", form.words.front()}};
  if (form.bounds == Bounds{}) return schema;
  schema["type"] = Json::array({"string", "number"});
  put_bounds(form.bounds, schema);
  return schema;
}

// Letters as a class of a regular expression.
std::string letter_class(const std::string& letters) {
  std::string all;
  for (const char letter : letters) {
    if (std::string_view("\\]^-").find(letter) != std::string_view::npos) all += '\\';
    all += letter;
  }
  return "[" + all + "]";
}

std::string length_of(const Bounds& bounds) {
  const std::string least = std::to_string(std::max(0, static_cast<int>(bounds.least)));
  return "{" + least + "," + (std::isfinite(bounds.most) ? std::to_string(static_cast<int>(bounds.most)) : "") + "}";
}

// Texts may be written without quotes, and YAML takes some of those for numbers or truth values.
Json text_schema(const Form& form) {
  const auto has = [&](char letter) { return form.letters.empty() || form.letters.find(letter) != std::string::npos; };
  Json schema{{"type", Json::array({"string", has('.') ? "number" : "integer", "boolean"})}};
  if (!has('-')) schema["minimum"] = 0;
  const std::string also = form.words.empty() ? "" : form.words.front();
  if (!form.letters.empty() || !also.empty()) {
    const std::string letter = form.letters.empty() ? "[\\s\\S]" : letter_class(form.letters);
    schema["pattern"] = "^" + also + letter + length_of(form.bounds) + "$";
  } else if (form.bounds.least > 0) {
    schema["minLength"] = static_cast<int>(form.bounds.least);
  }
  return schema;
}

// The words, and what YAML makes of those that look like numbers or truth values.
Json choice_schema(const std::vector<std::string>& words) {
  Json allowed = words;
  for (const std::string& word : words) {
    const Json number = Json::parse(word, nullptr, false);
    if (number.is_number()) allowed.push_back(number);
    if (word == "true" || word == "yes" || word == "on") allowed.push_back(true);
    if (word == "false" || word == "no" || word == "off") allowed.push_back(false);
  }
  return {{"enum", allowed}};
}

// A name for a definition: what a reader calls a part, without what a JSON pointer would have to escape.
std::string definition_name(std::string part) {
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  std::ranges::replace_if(
      part, [&](char c) { return !is_plain(c); }, '_');
  return part;
}

Json exactly_one_of(const std::vector<std::string>& keys) {
  Json each = Json::array();
  for (const std::string& key : keys) each.push_back({{"required", Json::array({key})}});
  return {{"oneOf", each}};
}

class SchemaWriter {
 public:
  explicit SchemaWriter(const Parts& parts) : parts_(parts) {}

  Json file(const std::string& title, const Shape& root) {
    Json schema{{"$schema", kDraft}, {"title", title}};
    const Part* const part = root.part.empty() ? nullptr : &part_of(root.part);
    if (part != nullptr && part->names.empty() && part->has_base()) {
      schema["if"] = {{"required", Json::array({"base"})}};
      schema["then"] = reference(root.part, true);
      schema["else"] = reference(root.part, false);
      schema["required"] = Json::array({"schema"});
    } else {
      schema.update(value("file", root, false));
    }
    schema["$defs"] = definitions();
    return schema;
  }

 private:
  const Part& part_of(const std::string& name) const {
    static const Part kUnseen;
    const auto found = parts_.find(name);
    return found == parts_.end() ? kUnseen : found->second;
  }

  // Refers to the definition of a part. With `over` the part is laid over another one, which has the required keys.
  Json reference(const std::string& part, bool over) {
    const std::string name = definition_name(part) + (over ? "_over_base" : "");
    wanted_.insert({name, {part, over}});
    return {{"$ref", "#/$defs/" + name}};
  }

  // A definition under this name, or a name like it where another schema has that one.
  Json shared(const std::string& name, const Json& schema) {
    const bool is_part =
        std::ranges::any_of(parts_, [&](const auto& part) { return definition_name(part.first) == name; });
    std::string free = is_part ? name + "_here" : name;
    for (int number = 2;; ++number) {
      const auto [known, is_new] = shared_.try_emplace(free, schema);
      if (is_new || known->second == schema) return {{"$ref", "#/$defs/" + free}};
      free = name + "_" + std::to_string(number);
    }
  }

  Json scalar(const Form& form) {
    switch (form.kind) {
      case Form::Kind::pattern:
        return pattern_schema(form);
      case Form::Kind::choice:
        return choice_schema(form.words);
      case Form::Kind::flag:
        return choice_schema({"true", "false"});
      case Form::Kind::count:
        return shared("count", count_schema(form.bounds));
      case Form::Kind::real:
        return shared("number", number("a number", "number", form.bounds, number_pattern(form.bounds, true)));
      case Form::Kind::share:
        return shared("share", number("a share, 0.6 or 60 %", "number", form.bounds,
                                      share_pattern(form.bounds, form.words.empty() ? "" : form.words.front())));
      case Form::Kind::percent:
        return shared("percentage", {{"title", "a percentage"},
                                     {"type", "string"},
                                     {"pattern", percent_pattern(form.bounds)},
                                     {"examples", Json::array({"5 %"})}});
      case Form::Kind::bytes:
        return shared("size", quantity("a size", form, UnitsOf::bytes, "40 GiB"));
      case Form::Kind::time:
        return shared("time", quantity("a time", form, UnitsOf::time, "3 us"));
      case Form::Kind::rate:
        return shared("rate", quantity("a rate", form, UnitsOf::rate, "25 GB/s"));
      case Form::Kind::flops:
        return shared("compute_rate", quantity("a compute rate", form, UnitsOf::flops, "19.5 TFLOP/s"));
      default:
        return shared(form.letters.empty() ? "text" : "name", text_schema(form));
    }
  }

  Json list(const Shape& shape, const Bounds& length) {
    Json schema{{"type", "array"}};
    if (length.least > 0) schema["minItems"] = as_json(length.least);
    if (std::isfinite(length.most)) schema["maxItems"] = as_json(length.most);
    if (!shape.item.empty()) schema["items"] = value("item", shape.item.front(), false);
    return schema;
  }

  Json map(const Shape& shape, bool over) {
    // A key without a value is an empty map.
    Json schema{{"type", Json::array({"object", "null"})}};
    Json required = Json::array();
    for (const Shape::Key& key : shape.keys) {
      if (shape.closed && !key.allowed) continue;
      schema["properties"][key.name] = field(key, over);
      if (!key.help.empty()) schema["properties"][key.name]["description"] = key.help;
      if (!over && shape.maps > 0 && key.required_in == shape.maps) required.push_back(key.name);
    }
    if (!required.empty()) schema["type"] = "object", schema["required"] = required;
    if (!over)
      for (const std::vector<std::string>& keys : shape.one_of) schema["allOf"].push_back(exactly_one_of(keys));
    if (shape.closed) schema["additionalProperties"] = false;
    if (!shape.by_name && !shape.free.empty())
      schema["additionalProperties"] = value("entry", shape.free.front(), over);
    return schema;
  }

  Json field(const Shape::Key& key, bool over) {
    Json plain = value(key.name, key.shape, over);
    if (!key.sourced || plain.empty()) return plain;
    if (!plain.contains("$ref") && !plain.contains("enum")) plain = shared(key.name, plain);
    const Json either = plain_or_sourced(plain);
    if (!plain.contains("$ref")) return either;
    const std::string name = plain["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
    return shared(name + "_or_sourced", either);
  }

  Json plain_or_sourced(const Json& plain) {
    const Json sourced{{"type", "object"},
                       {"allOf", Json::array({reference(kSourcedPart, false)})},
                       {"required", Json::array({"value"})},
                       {"properties", {{"value", plain}}}};
    return {{"anyOf", Json::array({plain, sourced})}};
  }

  // Several readers may look at a map, and one of them may ask for more than the others.
  Json map_here(const std::string& name, const Shape& shape, bool over) {
    Json schema =
        shape.part.empty() ? shared(name, map(shape, over)) : reference(shape.part, part_of(shape.part).has_base());
    double least = -1;
    for (const Form& form : shape.forms)
      if (form.kind == Form::Kind::map) least = std::max(least, form.bounds.least);
    if (least >= 0) schema["type"] = "object";
    if (least > 0) schema["minProperties"] = as_json(least);
    return schema;
  }

  Json value(const std::string& name, const Shape& shape, bool over) {
    Json all = Json::array();
    for (const Form& form : shape.forms) {
      if (form.kind == Form::Kind::anything) return Json::object();
      Json one = form.kind == Form::Kind::list  ? list(shape, form.bounds)
                 : form.kind == Form::Kind::map ? map_here(name, shape, over)
                                                : scalar(form);
      if (std::ranges::find(all, one) == all.end()) all.push_back(std::move(one));
    }
    if (all.empty()) return Json::object();
    return all.size() == 1 ? all.front() : Json{{"anyOf", all}};
  }

  // A map whose keys depend on one of them.
  Json named(const std::string& name, const Part& part) {
    Json schema{{"type", "object"}};
    schema["properties"][part.name_key] = {{"enum", part.names}};
    const auto sourced = [&](const auto& each) {
      const Shape::Key* const key = find_key(each.second, part.name_key);
      return key != nullptr && key->sourced;
    };
    if (std::ranges::any_of(part.by_name, sourced))
      schema["properties"][part.name_key] = plain_or_sourced({{"enum", part.names}});
    if (part.needs_name) schema["required"] = Json::array({part.name_key});
    Json cases = Json::array();
    const auto add = [&](const std::string& each, const Shape& shape, const Json& condition) {
      Json keys = map(shape, false);
      if (keys.contains("properties") && !each.empty()) keys["properties"][part.name_key] = {{"const", each}};
      const std::string definition = definition_name(name + "." + (each.empty() ? "unnamed" : each));
      inner_[definition] = std::move(keys);
      cases.push_back({{"if", condition}, {"then", {{"$ref", "#/$defs/" + definition}}}});
    };
    for (const auto& [each, shape] : part.by_name)
      add(each, shape,
          {{"properties", {{part.name_key, {{"const", each}}}}}, {"required", Json::array({part.name_key})}});
    if (!part.needs_name) add("", part.shape, {{"not", {{"required", Json::array({part.name_key})}}}});
    schema["allOf"] = cases;
    return schema;
  }

  // All definitions that the schema refers to, directly or through other definitions.
  Json definitions() {
    std::map<std::string, Json> all;
    for (bool more = true; more;) {
      more = false;
      const auto wanted = wanted_;
      for (const auto& [name, what] : wanted) {
        if (all.contains(name)) continue;
        more = true;
        const Part& part = part_of(what.first);
        all[name] = part.names.empty() ? map(part.shape, what.second) : named(name, part);
      }
    }
    all.insert(shared_.begin(), shared_.end());
    all.insert(inner_.begin(), inner_.end());
    return all;
  }

  const Parts& parts_;
  std::map<std::string, std::pair<std::string, bool>> wanted_;  // by the name of the definition: part, over
  std::map<std::string, Json> shared_, inner_;
};

}  // namespace

std::string json_schema(const std::string& title, const Shape& root, const Parts& parts) {
  return SchemaWriter(parts).file(title, root).dump(1) + "\n";
}

}  // namespace shardsim
