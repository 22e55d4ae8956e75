#include "server/config/strict_object.h"

#include <algorithm>

#include "api/values/duration.h"
#include "json/yaml/yaml.h"

namespace flyball::server {
namespace {

const json::Array kNoElements;

std::string JoinTexts(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

}  // namespace

Result<json::Value> ParseStrictObject(std::string_view text, const std::vector<std::string>& api_versions,
                                      std::string_view kind) {
  std::vector<std::string> duplicates;
  auto value = json::ParseYaml(text, &duplicates);
  if (!value) return Unexpected(BadRequest(value.error().message()));
  if (!value->is_object()) return Unexpected(BadRequest("it is no object"));
  const std::string api_version((*value)["apiVersion"].string_or(""));
  const std::string found((*value)["kind"].string_or(""));
  if (found.empty()) return Unexpected(BadRequest("Object 'Kind' is missing"));
  if (api_version.empty()) return Unexpected(BadRequest("Object 'apiVersion' is missing"));
  if (found != kind || std::find(api_versions.begin(), api_versions.end(), api_version) == api_versions.end())
    return Unexpected(
        BadRequest("no kind \"" + found + "\" is registered for version \"" + api_version + "\""));
  if (!duplicates.empty()) return Unexpected(StrictDecodingError({json::YamlErrorsText(duplicates)}));
  return value;
}

StrictObject::StrictObject(const json::Value& value, std::string path, std::vector<std::string>& problems)
    : value_(value), path_(std::move(path)), problems_(problems) {
  if (!value_.is_object()) problems_.push_back(path_ + ": expected an object");
}

StrictObject::~StrictObject() {
  if (!value_.is_object()) return;
  for (const auto& [key, member] : value_.as_object())
    if (!asked_.contains(key)) problems_.push_back("unknown field \"" + PathOf(key) + "\"");
}

std::string StrictObject::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

std::string StrictObject::PathOf(std::string_view name, std::size_t index) const {
  return PathOf(name) + "[" + std::to_string(index) + "]";
}

const json::Value* StrictObject::Find(std::string_view name) {
  asked_.emplace(name);
  const json::Value* member = value_.Find(name);
  return member && member->is_null() ? nullptr : member;
}

void StrictObject::WrongType(std::string_view name, std::string_view expected) {
  problems_.push_back(PathOf(name) + ": expected " + std::string(expected));
}

bool StrictObject::Has(std::string_view name) {
  return Find(name) != nullptr;
}

std::string StrictObject::String(std::string_view name) {
  const json::Value* member = Find(name);
  if (!member) return {};
  if (!member->is_string()) WrongType(name, "a string");
  return std::string(member->string_or(""));
}

std::optional<std::string> StrictObject::OptionalString(std::string_view name) {
  if (!Has(name)) return std::nullopt;
  return String(name);
}

std::optional<Duration> StrictObject::Time(std::string_view name) {
  const auto text = OptionalString(name);
  if (!text) return std::nullopt;
  const auto duration = api::ParseDuration(*text);
  if (duration) return *duration;
  problems_.push_back(PathOf(name) + ": " + duration.error().message());
  return std::nullopt;
}

std::optional<bool> StrictObject::Bool(std::string_view name) {
  const json::Value* member = Find(name);
  if (!member) return std::nullopt;
  if (!member->is_bool()) {
    WrongType(name, "a boolean");
    return std::nullopt;
  }
  return member->as_bool();
}

std::vector<std::string> StrictObject::Strings(std::string_view name) {
  std::vector<std::string> out;
  for (const json::Value& element : List(name)) {
    if (!element.is_string()) {
      WrongType(name, "a list of strings");
      return {};
    }
    out.emplace_back(element.as_string());
  }
  return out;
}

const json::Array& StrictObject::List(std::string_view name) {
  const json::Value* member = Find(name);
  if (!member) return kNoElements;
  if (member->is_array()) return member->as_array();
  WrongType(name, "a list");
  return kNoElements;
}

const json::Value* StrictObject::Object(std::string_view name) {
  const json::Value* member = Find(name);
  if (!member || member->is_object()) return member;
  WrongType(name, "an object");
  return nullptr;
}

const json::Value& StrictObject::ObjectOrEmpty(std::string_view name) {
  static const json::Value kEmpty = json::Object{};
  const json::Value* member = Object(name);
  return member ? *member : kEmpty;
}

Error StrictDecodingError(const std::vector<std::string>& problems) {
  return BadRequest("strict decoding error: " + JoinTexts(problems));
}

std::string AggregateText(const std::vector<std::string>& texts) {
  return texts.size() == 1 ? texts[0] : "[" + JoinTexts(texts) + "]";
}

std::string AggregateText(const api::FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const Cause& cause : errors.causes()) {
    std::string text = cause.field + ": " + cause.message;
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return AggregateText(texts);
}

}  // namespace flyball::server
