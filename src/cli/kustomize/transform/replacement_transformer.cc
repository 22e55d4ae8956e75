#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/transform/field_path.h"
#include "cli/kustomize/transform/go_json.h"
#include "cli/kustomize/transform/transformer.h"
#include "json/yaml/yaml.h"

namespace flyball::cli::kustomize {
namespace {

constexpr const char* kDefaultPath = "metadata.name";

bool IsScalar(const json::Value& value) {
  return !value.is_object() && !value.is_array();
}

std::vector<std::string> SplitBy(const std::string& text, const std::string& delimiter) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t at; (at = text.find(delimiter, begin)) != std::string::npos; begin = at + delimiter.size())
    parts.push_back(text.substr(begin, at - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::string JoinedBy(const std::vector<std::string>& parts, const std::string& delimiter) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : delimiter) + parts[i];
  return text;
}

// The scalar keeps its type: the text is written where the old text was.
void SetText(json::Value& scalar, const std::string& text) {
  scalar = scalar.is_string() ? json::Value(text) : PlainScalar(text);
}

bool HasContent(const json::Value* value) {
  return value != nullptr && !value->is_null() && (IsScalar(*value) || !value->empty());
}

Result<Resource*> FindSource(const ResourceList& resources, const ReplacementSource& source) {
  const auto matches = resources.WithAnyId([&](const ResourceId& id) { return id.IsSelectedBy(source.id); });
  if (matches.empty()) return Fail("nothing selected by " + source.ToString());
  if (matches.size() > 1) return Fail("multiple matches for selector " + source.ToString());
  return matches[0];
}

Result<json::Value> Part(const json::Value& value, const FieldOptions& options) {
  if (options.delimiter.empty()) return value;
  if (!IsScalar(value)) return Fail("delimiter option can only be used with scalar nodes");
  const auto parts = SplitBy(ScalarText(value), options.delimiter);
  if (options.index < 0 || options.index >= static_cast<std::int64_t>(parts.size()))
    return Fail("options.index " + std::to_string(options.index) + " is out of bounds for value " +
                ScalarText(value));
  json::Value part = value;
  SetText(part, parts[static_cast<std::size_t>(options.index)]);
  return part;
}

Result<json::Value> SourceValue(const ResourceList& resources, const Replacement& replacement) {
  if (replacement.source && replacement.source_value)
    return Fail("value and resource selectors are mutually exclusive");
  if (replacement.source_value) return PlainScalar(*replacement.source_value);
  ReplacementSource source = *replacement.source;
  FLYBALL_ASSIGN(Resource * resource, FindSource(resources, source));
  if (source.field_path.empty()) source.field_path = kDefaultPath;
  auto found = LookUp(resource->object, SplitFieldPath(source.field_path));
  if (!found) return Wrap("error looking up replacement source", found.error());
  if (!HasContent(*found))
    return Fail("fieldPath `" + source.field_path + "` is missing for replacement source " +
                source.id.ToString());
  return Part(**found, source.options);
}

Status SetField(json::Value& target, const json::Value& value, const FieldOptions& options) {
  std::string text = ScalarText(value);
  if (!options.delimiter.empty()) {
    if (!IsScalar(target)) return Fail("delimiter option can only be used with scalar nodes");
    auto parts = SplitBy(ScalarText(target), options.delimiter);
    const auto size = static_cast<std::int64_t>(parts.size());
    if (options.index < 0)
      parts.insert(parts.begin(), text);
    else if (options.index >= size)
      parts.push_back(text);
    else
      parts[static_cast<std::size_t>(options.index)] = text;
    text = JoinedBy(parts, options.delimiter);
  }
  if (IsScalar(target))
    SetText(target, text);
  else
    target = value;
  return {};
}

// JSON within a text: the members of what a ConfigMap holds can be set too.
// Returns false if there is none on the way; the path then leads through the object alone.
Result<bool> SetWithinText(json::Value& object, const json::Value& value,
                           const std::vector<std::string>& parts, const std::optional<json::Value>& create) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    auto found = LookUp(object, {parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i)});
    if (!found || *found == nullptr || !(*found)->is_string()) continue;
    const std::string text((*found)->as_string());
    auto content = json::ParseYaml(text);
    if (!content || IsScalar(*content)) return false;
    auto targets = MatchAll(*content, {parts.begin() + static_cast<std::ptrdiff_t>(i), parts.end()}, create);
    if (!targets || targets->empty()) return false;
    const char first = text[std::min(text.find_first_not_of(kWhiteSpace), text.size() - 1)];
    if (first != '{' && first != '[')
      return Fail("replacements within YAML text are not supported: only JSON text can be changed");
    for (json::Value* target : *targets) FLYBALL_TRY(SetField(*target, value, {}));
    const bool in_lines = text.find('\n') != std::string::npos && text.find("  ") != std::string::npos;
    **found = in_lines ? GoJsonIndented(std::move(*content)) : GoJson(std::move(*content));
    return true;
  }
  return false;
}

Status SetPath(json::Value& object, const std::string& path, const json::Value& value,
               const FieldOptions& options) {
  std::optional<json::Value> create;
  if (options.create)
    create = IsScalar(value)    ? json::Value()
             : value.is_array() ? json::Value(json::Array())
                                : json::Value(json::Object());
  const auto parts = SplitFieldPath(path);
  FLYBALL_ASSIGN(const bool done, SetWithinText(object, value, parts, create));
  if (done) return {};
  const std::string problem =
      std::string(options.create ? "unable to find or create field " : "unable to find field ") +
      api::GoQuote(path) + " in replacement target";
  auto targets = MatchAll(object, parts, create);
  if (!targets) return Wrap(problem, targets.error());
  if (targets->empty()) return Fail(problem);
  for (json::Value* target : *targets) FLYBALL_TRY(SetField(*target, value, options));
  return {};
}

// A target of a replacement, with its selectors ready.
class TargetMatcher {
 public:
  static Result<TargetMatcher> Create(const ReplacementTarget& target) {
    if (!target.select) return Fail("target must specify resources to select");
    TargetMatcher matcher;
    auto select = ResourceMatcher::Create(*target.select);
    if (!select) return Wrap("error creating target selector", select.error());
    matcher.select_ = std::move(*select);
    for (const Selector& reject : target.reject) {
      auto rejected = ResourceMatcher::Create(reject);
      if (!rejected) return Wrap("error creating target selector", rejected.error());
      matcher.rejects_.push_back({reject, std::move(*rejected)});
    }
    return matcher;
  }

  bool Matches(const Resource& resource) const {
    const auto ids = resource.AllIds();
    const auto any = [&](const ResourceMatcher& matcher) {
      return std::any_of(ids.begin(), ids.end(), [&](const ResourceId& id) { return matcher.MatchesId(id); });
    };
    for (const auto& [selector, matcher] : rejects_) {
      const bool by_metadata = !selector.label_selector.empty() || !selector.annotation_selector.empty();
      if (by_metadata && matcher.MatchesMetadata(resource)) return false;
      if (!selector.id.empty() && any(matcher)) return false;
    }
    return select_.MatchesMetadata(resource) && any(select_);
  }

 private:
  ResourceMatcher select_;
  std::vector<std::pair<Selector, ResourceMatcher>> rejects_;
};

Status Replace(ResourceList& resources, const Replacement& replacement) {
  if ((!replacement.source && !replacement.source_value) || replacement.targets.empty())
    return Fail("replacements must specify a source and at least one target");
  FLYBALL_ASSIGN(const json::Value value, SourceValue(resources, replacement));
  for (const ReplacementTarget& target : replacement.targets) {
    FLYBALL_ASSIGN(const TargetMatcher matcher, TargetMatcher::Create(target));
    for (const auto& resource : resources.items()) {
      if (!matcher.Matches(*resource)) continue;
      if (target.field_paths.empty())
        FLYBALL_TRY(SetPath(resource->object, kDefaultPath, value, target.options));
      for (const std::string& path : target.field_paths)
        FLYBALL_TRY(SetPath(resource->object, path, value, target.options));
    }
  }
  return {};
}

Result<std::vector<Replacement>> ReadReplacements(const std::vector<Replacement>& entries,
                                                  const FolderLoader& loader) {
  std::vector<Replacement> replacements;
  for (const Replacement& entry : entries) {
    if (entry.path.empty()) {
      replacements.push_back(entry);
      continue;
    }
    if (entry.source || !entry.targets.empty())
      return Fail("cannot specify both path and inline replacement");
    FLYBALL_ASSIGN(const std::string text, loader.Read(entry.path));
    FLYBALL_ASSIGN(auto read, ParseReplacements(text));
    for (Replacement& replacement : read) replacements.push_back(std::move(replacement));
  }
  return replacements;
}

}  // namespace

Result<Transformer> ReplacementTransformer(const std::vector<Replacement>& entries,
                                           const FolderLoader& loader) {
  auto replacements = ReadReplacements(entries, loader);
  if (!replacements) {
    json::Array written;
    for (const Replacement& entry : entries) written.push_back(entry.written);
    return ConfigFailure("ReplacementTransformer", json::Object{{"Replacements", std::move(written)}},
                         replacements.error().message());
  }
  return Transformer{"ReplacementTransformer",
                     [replacements = std::move(*replacements)](ResourceList& resources) -> Status {
                       for (const Replacement& replacement : replacements)
                         FLYBALL_TRY(Replace(resources, replacement));
                       return {};
                     }};
}

}  // namespace flyball::cli::kustomize
