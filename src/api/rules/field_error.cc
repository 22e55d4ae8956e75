#include "api/rules/field_error.h"

#include <unordered_set>
#include <utility>

#include "api/values/go_text.h"

namespace flyball::api {
namespace {

constexpr int kUnprocessable = 422;

// What a client is told of: so many errors, or of so many bytes. A few MB of bad labels would otherwise be
// answered, and written to the audit log, with many times their size. (Upstream lists them all; its decoder
// stops after 100 strict errors.)
constexpr std::size_t kMaxListed = 100;
constexpr std::size_t kMaxListedBytes = 256u << 10;

Cause MakeCause(std::string_view reason, const FieldPath& path, std::string message) {
  return {std::string(reason), std::move(message), path.text()};
}

std::string WithDetail(std::string message, std::string_view detail) {
  if (!detail.empty()) {
    message += ": ";
    message += detail;
  }
  return message;
}

std::string WithValue(std::string_view title, const json::Value& value, std::string_view detail) {
  return WithDetail(std::string(title) + ": " + GoValueText(value), detail);
}

// The detail of an unsupported value: every supported one, quoted.
std::string SupportedList(const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& value : supported) {
    detail += detail.empty() ? "supported values: " : ", ";
    detail += GoQuote(value);
  }
  return detail;
}

}  // namespace

FieldPath FieldPath::Child(std::string_view name) const {
  std::string text;
  text.reserve(text_.size() + 1 + name.size());
  text += text_;
  if (!text.empty()) text += '.';
  text += name;
  return FieldPath(std::move(text));
}

FieldPath FieldPath::Index(std::size_t i) const {
  return FieldPath(text_ + '[' + std::to_string(i) + ']');
}

FieldPath FieldPath::Key(std::string_view key) const {
  return FieldPath(text_ + '[' + std::string(key) + ']');
}

void FieldErrors::Required(const FieldPath& path, std::string_view detail) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueRequired", path, WithDetail("Required value", detail)));
}

void FieldErrors::Invalid(const FieldPath& path, const json::Value& value, std::string_view detail) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueInvalid", path, WithValue("Invalid value", value, detail)));
}

void FieldErrors::InvalidOmitted(const FieldPath& path, std::string_view detail) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueInvalid", path, "Invalid value: " + std::string(detail)));
}

void FieldErrors::TypeInvalid(const FieldPath& path, const json::Value& value, std::string_view detail) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueTypeInvalid", path, WithValue("Invalid value", value, detail)));
}

void FieldErrors::NotSupported(const FieldPath& path, const json::Value& value,
                               std::vector<std::string> supported) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueNotSupported", path,
                WithValue("Unsupported value", value, SupportedList(supported))));
}

void FieldErrors::Duplicate(const FieldPath& path, const json::Value& value) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueDuplicate", path, WithValue("Duplicate value", value, {})));
}

void FieldErrors::NotFound(const FieldPath& path, const json::Value& value) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueNotFound", path, WithValue("Not found", value, {})));
}

void FieldErrors::Forbidden(const FieldPath& path, std::string_view detail) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueForbidden", path, WithDetail("Forbidden", detail)));
}

void FieldErrors::TooLong(const FieldPath& path, std::size_t max_length) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueTooLong", path,
                "Too long: may not be more than " + std::to_string(max_length) +
                    (max_length == 1 ? " byte" : " bytes")));
}

void FieldErrors::TooMany(const FieldPath& path, std::size_t actual, std::size_t max_items) {
  if (IsFull()) return;
  Add(MakeCause("FieldValueTooMany", path,
                "Too many: " + std::to_string(actual) + ": must have at most " + std::to_string(max_items) +
                    (max_items == 1 ? " item" : " items")));
}

void FieldErrors::Internal(const FieldPath& path, std::string_view detail) {
  if (IsFull()) return;
  Add(MakeCause("InternalError", path, WithDetail("Internal error", detail)));
}

FieldErrors& FieldErrors::declarative() {
  if (declarative_.empty()) declarative_.emplace_back();
  return declarative_.front();
}

std::vector<Cause> FieldErrors::causes() const {
  std::vector<Cause> all = causes_;
  if (!declarative_.empty())
    for (Cause& cause : declarative_.front().causes()) all.push_back(std::move(cause));
  return all;
}

bool FieldErrors::IsFull() {
  if (causes_.size() < kMaxListed && bytes_ < kMaxListedBytes) return false;
  ++left_out_;
  return true;
}

void FieldErrors::Add(Cause cause) {
  if (IsFull()) return;
  bytes_ += cause.field.size() + cause.message.size();
  causes_.push_back(std::move(cause));
}

void FieldErrors::Append(FieldErrors other) {
  if (!other.declarative_.empty()) declarative().Append(std::move(other.declarative_.front()));
  left_out_ += other.left_out_;
  for (Cause& cause : other.causes_) Add(std::move(cause));
}

Error FieldErrors::ToError(std::string_view group, std::string_view kind, std::string_view name) const {
  std::unordered_set<std::string> seen;
  std::string list;
  ErrorDetails details;
  for (Cause& cause : causes()) {
    std::string text = cause.field + ": " + cause.message;
    const auto [it, added] = seen.insert(std::move(text));
    if (!added) continue;
    if (!list.empty()) list += ", ";
    list += *it;
    details.causes.push_back(std::move(cause));
  }
  const std::size_t left_out = left_out_ + (declarative_.empty() ? 0 : declarative_.front().left_out_);
  if (left_out > 0) list += ", and " + std::to_string(left_out) + " more";
  if (seen.size() > 1) list = "[" + list + "]";

  std::string message(kind);
  if (!group.empty()) message.append(".").append(group);
  message += " " + GoQuote(name) + " is invalid: " + list;
  details.name = name;
  details.group = group;
  details.kind = kind;
  return Error(Reason::kInvalid, kUnprocessable, std::move(message), std::move(details));
}

}  // namespace flyball::api
