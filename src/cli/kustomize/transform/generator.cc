#include "cli/kustomize/transform/generator.h"

#include <filesystem>

#include "api/values/base64.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cel/text/utf8.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/transform/go_json.h"
#include "crypto/digest.h"

namespace flyball::cli::kustomize {
namespace {

using Pair = std::pair<std::string, std::string>;

std::string GoList(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : " ") + item;
  return "[" + text + "]";
}

std::string WithoutQuotes(const std::string& text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() && (text[0] == '"' || text[0] == '\'');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Result<Pair> ParseLiteral(const std::string& literal) {
  const std::size_t equals = literal.find('=');
  if (equals == 0 || equals == std::string::npos)
    return Fail("invalid literal source " + literal + ", expected key=value");
  return Pair(literal.substr(0, equals), WithoutQuotes(literal.substr(equals + 1)));
}

// "key=path", or a path whose last part is the key.
Result<Pair> ParseFileSource(const std::string& source) {
  const std::size_t equals = source.find('=');
  if (equals == std::string::npos) return Pair(std::filesystem::path(source).filename().string(), source);
  if (source.find('=', equals + 1) != std::string::npos)
    return Fail("source " + api::GoQuote(source) + " key name or file path contains '='");
  if (equals == 0)
    return Fail("missing key name for file path " + api::GoQuote(source.substr(1)) + " in source " +
                api::GoQuote(source));
  if (equals + 1 == source.size())
    return Fail("missing file path for key name " + api::GoQuote(source.substr(0, equals)) + " in source " +
                api::GoQuote(source));
  return Pair(source.substr(0, equals), source.substr(equals + 1));
}

// A line of an env file: nothing for blank lines and comments.
Result<std::optional<Pair>> ParseEnvLine(std::string line, bool is_first) {
  if (!cel::IsValidUtf8(line)) return Fail("line has invalid utf8 bytes : " + line);
  if (is_first && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  line.erase(0, line.find_first_not_of(kWhiteSpace));
  if (line.empty() || line[0] == '#') return std::optional<Pair>();
  const std::size_t equals = line.find('=');
  const std::string value = equals == std::string::npos ? "" : line.substr(equals + 1);
  const std::string key = line.substr(0, equals);
  return key.empty() ? std::optional<Pair>() : std::optional(Pair(key, value));
}

Status AddEnvFile(const std::string& path, const FolderLoader& loader, std::vector<Pair>& pairs) {
  FLYBALL_ASSIGN(const std::string content, loader.Read(path));
  bool is_first = true;
  for (std::string& line : SplitText(content, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    FLYBALL_ASSIGN(auto pair, ParseEnvLine(std::move(line), is_first));
    if (pair) pairs.push_back(std::move(*pair));
    is_first = false;
  }
  return {};
}

Status AddLiterals(const std::vector<std::string>& literals, std::vector<Pair>& pairs) {
  for (const std::string& literal : literals) {
    FLYBALL_ASSIGN(Pair pair, ParseLiteral(literal));
    pairs.push_back(std::move(pair));
  }
  return {};
}

Status AddFiles(const std::vector<std::string>& files, const FolderLoader& loader, std::vector<Pair>& pairs) {
  for (const std::string& file : files) {
    FLYBALL_ASSIGN(Pair pair, ParseFileSource(file));
    FLYBALL_ASSIGN(pair.second, loader.Read(pair.second));
    pairs.push_back(std::move(pair));
  }
  return {};
}

Result<std::vector<Pair>> ReadPairs(const GeneratorEntry& entry, const FolderLoader& loader) {
  std::vector<Pair> pairs;
  for (const std::string& env : entry.envs)
    if (auto read = AddEnvFile(env, loader, pairs); !read)
      return Wrap("loading KV pairs: env source files: " + GoList(entry.envs), read.error());
  if (auto read = AddLiterals(entry.literals, pairs); !read)
    return Wrap("loading KV pairs: literal sources " + GoList(entry.literals), read.error());
  if (auto read = AddFiles(entry.files, loader, pairs); !read)
    return Wrap("loading KV pairs: file sources: " + GoList(entry.files), read.error());
  return pairs;
}

// Lines of 70 characters, if one is not enough.
std::string Base64Lines(const std::string& bytes) {
  constexpr std::size_t kLine = 70;
  const std::string text = api::EncodeBase64(bytes);
  if (text.size() < kLine) return text;
  std::string lines;
  for (std::size_t i = 0; i < text.size(); i += kLine) lines += text.substr(i, kLine) + "\n";
  return lines;
}

void SetPair(json::Value& object, const Pair& pair, bool secret) {
  if (secret)
    object["data"][pair.first] = Base64Lines(pair.second);
  else if (cel::IsValidUtf8(pair.second))
    object["data"][pair.first] = pair.second;
  else
    object["binaryData"][pair.first] = Base64Lines(pair.second);
}

void SetMetadata(json::Value& object, const GeneratorEntry& entry) {
  object["metadata"]["name"] = entry.name;
  if (!entry.ns.empty()) object["metadata"]["namespace"] = entry.ns;
  for (const auto& [key, value] : entry.options.labels) object["metadata"]["labels"][key] = value;
  for (const auto& [key, value] : entry.options.annotations) object["metadata"]["annotations"][key] = value;
  if (entry.options.immutable) object["immutable"] = true;
}

// "" if there is none.
json::Value MemberOrEmpty(const json::Value& object, const char* member) {
  const json::Value* found = object.Find(member);
  return found == nullptr ? json::Value("") : *found;
}

}  // namespace

Result<std::unique_ptr<Resource>> Generate(const GeneratorEntry& entry, const FolderLoader& loader) {
  if (entry.name.empty()) return Fail("a configmap must have a name");
  auto resource = std::make_unique<Resource>();
  json::Value& object = resource->object;
  object["apiVersion"] = "v1";
  object["kind"] = entry.secret ? "Secret" : "ConfigMap";
  SetMetadata(object, entry);
  if (entry.secret) object["type"] = entry.type.empty() ? "Opaque" : entry.type;
  if (entry.secret) object["data"] = json::Object();
  FLYBALL_ASSIGN(const auto pairs, ReadPairs(entry, loader));
  StringMap seen;
  for (const Pair& pair : pairs) {
    if (!seen.insert(pair).second)
      return Fail("configmap " + entry.name + " illegally repeats the key `" + pair.first + "`");
    SetPair(object, pair, entry.secret);
  }
  resource->needs_hash = !entry.options.disable_name_suffix_hash;
  resource->behavior = entry.behavior;
  return resource;
}

std::string ContentHash(const json::Value& object) {
  json::Value content;
  content["kind"] = object["kind"];
  content["name"] = "";  // kustomize looks for it in the wrong place, and the hash must stay the same
  content["data"] = MemberOrEmpty(object, "data");
  if (object["kind"].string_or("") == "Secret") {
    content["type"] = MemberOrEmpty(object, "type");
    if (object["stringData"].is_object()) content["stringData"] = object["stringData"];
  } else if (object["binaryData"].is_object()) {
    content["binaryData"] = object["binaryData"];
  }
  return NameHash(std::move(content));
}

std::string NameHash(json::Value content) {
  crypto::Sha256 digest;
  digest.Update(GoJson(std::move(content)));
  const std::string bytes = digest.Finish();
  // Hexadecimal, without the digits and letters that could make words.
  constexpr std::string_view kDigits = "gh2k456789mbcdtf";
  std::string text;
  for (std::size_t i = 0; i < 5; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

void AddHashes(ResourceList& resources) {
  for (const auto& resource : resources.items()) {
    if (!resource->needs_hash) continue;
    const std::string name = resource->name() + "-" + ContentHash(resource->object);
    resource->Remember();
    resource->SetName(name);
  }
}

}  // namespace flyball::cli::kustomize
