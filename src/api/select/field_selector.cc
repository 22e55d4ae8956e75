#include <algorithm>

#include "api/select/selector.h"

namespace flyball::api {

namespace {

constexpr std::size_t kNameIndex = 0, kNamespaceIndex = 1, kFirstOwnIndex = 2;

const json::Value* FindDotted(const json::Value& object, std::string_view path) {
  const json::Value* at = &object;
  while (at != nullptr) {
    const auto dot = path.find('.');
    at = at->Find(path.substr(0, dot));
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return at;
}

std::string AsText(const json::Value& value) {
  switch (value.kind()) {
    case json::Value::Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case json::Value::Kind::kInt:
      return std::to_string(value.as_int());
    case json::Value::Kind::kString:
      return std::string(value.as_string());
    default:
      return {};
  }
}

// The zero value Go shows for the few selectable fields that are not strings.
std::string_view ZeroText(std::string_view field) {
  if (field == "spec.unschedulable" || field == "spec.hostNetwork") return "false";
  if (field == "status.replicas" || field == "status.successful") return "0";
  return "";
}

// Labels that are not the path of what they read.
std::string Special(const KindInfo& kind, std::string_view field, const json::Value& object, bool& handled) {
  handled = true;
  if (kind.custom) return handled = false, std::string();
  if (kind.kind == "Event" && field == "source") {
    const auto component = object["source"]["component"].string_or("");
    return std::string(component.empty() ? object["reportingComponent"].string_or("") : component);
  }
  if (kind.kind == "Event" && field == "reportingComponent")
    return std::string(object["reportingComponent"].string_or(""));
  if (kind.kind == "Job" && field == "status.successful")
    return std::to_string(object["status"]["succeeded"].int_or(0));
  // Upstream accepts the label and gives it no value.
  if (kind.kind == "Pod" && field == "status.podIPs") return {};
  handled = false;
  return {};
}

std::string ReadOwnField(const KindInfo& kind, std::string_view field, const json::Value& object) {
  bool handled = false;
  std::string special = Special(kind, field, object, handled);
  if (handled) return special;
  const json::Value* value = FindDotted(object, field);
  if (value == nullptr || value->is_null()) return kind.custom ? std::string() : std::string(ZeroText(field));
  return AsText(*value);
}

std::string ReadField(const KindInfo& kind, std::size_t index, const json::Value& object) {
  const auto& metadata = object["metadata"];
  if (index == kNameIndex) return std::string(metadata["name"].string_or(""));
  if (index == kNamespaceIndex) return std::string(metadata["namespace"].string_or(""));
  return ReadOwnField(kind, kind.selectable_fields[index - kFirstOwnIndex], object);
}

std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t begin = 0;
  bool escaped = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (escaped) {
      escaped = false;
    } else if (text[i] == '\\') {
      escaped = true;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(begin));
  return terms;
}

// The whole UTF-8 sequence that begins s.
std::string_view FirstRune(std::string_view s) {
  std::size_t n = 1;
  while (n < s.size() && (static_cast<unsigned char>(s[n]) & 0xC0u) == 0x80u) ++n;
  return s.substr(0, n);
}

Result<std::string> Unescape(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c == ',' || c == '=')
      return Unexpected(
          BadRequest("invalid field selector: unescaped character in value: " + std::to_string(int{c})));
    if (c != '\\') {
      out += c;
      continue;
    }
    const auto rest = value.substr(i + 1);
    if (rest.empty() || (rest[0] != '\\' && rest[0] != ',' && rest[0] != '='))
      return Unexpected(BadRequest("invalid field selector: invalid escape sequence: \\" +
                                   std::string(rest.empty() ? rest : FirstRune(rest))));
    out += rest[0];
    ++i;
  }
  return out;
}

std::string Escape(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

struct SplitTerm {
  std::string_view left, right;
  bool equals = true;
};

std::optional<SplitTerm> Split(std::string_view term) {
  for (std::size_t i = 0; i < term.size(); ++i) {
    const auto rest = term.substr(i);
    if (rest.starts_with("!=")) return SplitTerm{term.substr(0, i), rest.substr(2), false};
    if (rest.starts_with("==")) return SplitTerm{term.substr(0, i), rest.substr(2), true};
    if (rest.starts_with("=")) return SplitTerm{term.substr(0, i), rest.substr(1), true};
  }
  return std::nullopt;
}

// What upstream says of a field that the kind cannot be selected by.
Error NotSelectable(const KindInfo& kind, std::string_view field) {
  const std::string shown(field);
  if (kind.custom) return BadRequest("field label not supported: " + shown);
  if (kind.selectable_fields.empty())
    return BadRequest('"' + shown +
                      "\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
  if (kind.kind == "Job") return BadRequest("field label \"" + shown + "\" not supported for batchv1.Job");
  if (kind.kind == "ResourceSlice")
    return BadRequest("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: " + shown);
  return BadRequest("field label not supported: " + shown);
}

// Kinds that name their fields leave metadata.namespace out where objects have none; the others do not care.
bool KnowsNamespace(const KindInfo& kind) {
  return kind.namespaced || (!kind.custom && kind.selectable_fields.empty());
}

Result<std::size_t> IndexOf(const KindInfo& kind, std::string_view field) {
  if (field == "metadata.name") return kNameIndex;
  if (field == "metadata.namespace" && KnowsNamespace(kind)) return kNamespaceIndex;
  const auto& own = kind.selectable_fields;
  if (auto it = std::find(own.begin(), own.end(), field); it != own.end())
    return kFirstOwnIndex + static_cast<std::size_t>(it - own.begin());
  return Unexpected(NotSelectable(kind, field));
}

// Names from before v1 that are still understood.
std::string_view CurrentName(const KindInfo& kind, std::string_view field) {
  return !kind.custom && kind.kind == "Pod" && field == "spec.host" ? "spec.nodeName" : field;
}

}  // namespace

std::vector<std::string> SelectableValues(const KindInfo& kind, const json::Value& object) {
  std::vector<std::string> out;
  const std::size_t count = kFirstOwnIndex + kind.selectable_fields.size();
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.push_back(ReadField(kind, i, object));
  return out;
}

Result<std::vector<FieldTerm>> ParseFieldTerms(std::string_view text) {
  auto parts = SplitTerms(text);
  std::sort(parts.begin(), parts.end());
  std::vector<FieldTerm> terms;
  for (const auto part : parts) {
    if (part.empty()) continue;
    const auto split = Split(part);
    if (!split)
      return Unexpected(BadRequest("invalid selector: '" + std::string(text) + "'; can't understand '" +
                                   std::string(part) + "'"));
    FLYBALL_ASSIGN(std::string value, Unescape(split->right));
    terms.push_back({std::string(split->left), std::move(value), split->equals});
  }
  return terms;
}

Result<FieldSelector> FieldSelector::Parse(std::string_view text, const KindInfo& kind) {
  FLYBALL_ASSIGN(auto terms, ParseFieldTerms(text));
  FieldSelector selector;
  for (auto& term : terms) {
    const std::string field(CurrentName(kind, term.field));
    FLYBALL_ASSIGN(const std::size_t index, IndexOf(kind, field));
    selector.terms_.push_back({{field, std::move(term.value), term.equals}, index});
  }
  return selector;
}

Result<FieldSelector> FieldSelector::Equal(std::string_view field, std::string value, const KindInfo& kind) {
  FLYBALL_ASSIGN(const std::size_t index, IndexOf(kind, field));
  FieldSelector selector;
  selector.terms_.push_back({{std::string(field), std::move(value), true}, index});
  return selector;
}

bool FieldSelector::Matches(std::span<const std::string> values) const {
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const Term& t) { return (values[t.index] == t.value) == t.equals; });
}

bool FieldSelector::Matches(const KindInfo& kind, const json::Value& object) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& t) {
    return (ReadField(kind, t.index, object) == t.value) == t.equals;
  });
}

std::optional<std::string_view> FieldSelector::RequiredValue(std::string_view field) const {
  for (const auto& t : terms_)
    if (t.equals && t.field == field) return t.value;
  return std::nullopt;
}

std::string FieldSelector::ToString() const {
  std::string out;
  for (const auto& t : terms_) {
    if (!out.empty()) out += ',';
    out += t.field + (t.equals ? "=" : "!=") + Escape(t.value);
  }
  return out;
}

}  // namespace flyball::api
