#include "cli/kubectl/session/manifests.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>

#include "api/select/selector.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/old_definition.h"
#include "cli/kustomize/build.h"
#include "cli/kustomize/resource/resource_text.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

struct Source {
  std::string name, text;
};

std::string ReadAll(std::istream& in) {
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool IsManifestFile(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

std::vector<fs::path> FilesIn(const fs::path& folder, bool recursive) {
  std::vector<fs::path> files;
  std::error_code ec;
  if (recursive) {
    for (const auto& entry : fs::recursive_directory_iterator(folder, ec))
      if (entry.is_regular_file() && IsManifestFile(entry.path())) files.push_back(entry.path());
  } else {
    for (const auto& entry : fs::directory_iterator(folder, ec))
      if (entry.is_regular_file() && IsManifestFile(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The flags of a kustomization exclude those of files.
Status CheckFlags(const ManifestFlags& flags) {
  const bool files = !flags.files.empty();
  const std::string both = "only one of -f or -k can be specified";
  const std::string recursive = "the -k flag can't be used with -f or -R";
  if (files && flags.recursive) return Unexpected(LocalError("[" + both + ", " + recursive + "]"));
  if (files) return Unexpected(LocalError(both));
  if (flags.recursive) return Unexpected(LocalError(recursive));
  return {};
}

Result<std::vector<Source>> ReadKustomization(const ManifestFlags& flags) {
  FLYBALL_TRY(CheckFlags(flags));
  FLYBALL_ASSIGN(const auto resources, kustomize::BuildKustomization(flags.kustomization, {}, std::cerr));
  return std::vector<Source>{{flags.kustomization, kustomize::WriteResources(resources)}};
}

Result<std::vector<Source>> ReadSources(const ManifestFlags& flags) {
  if (!flags.kustomization.empty()) return ReadKustomization(flags);
  std::vector<Source> sources;
  for (const std::string& name : flags.files) {
    if (name == "-") {
      sources.push_back({"STDIN", ReadAll(std::cin)});
      continue;
    }
    std::error_code ec;
    if (!fs::exists(name, ec)) return Unexpected(LocalError("the path \"" + name + "\" does not exist"));
    const auto files =
        fs::is_directory(name, ec) ? FilesIn(name, flags.recursive) : std::vector<fs::path>{name};
    for (const fs::path& file : files) {
      std::ifstream in(file, std::ios::binary);
      if (!in) return Unexpected(LocalError("cannot read " + file.string()));
      sources.push_back({file.string(), ReadAll(in)});
    }
  }
  return sources;
}

Error InvalidManifest(const std::string& source, const std::string& problem) {
  return LocalError("error validating \"" + source + "\": error validating data: " + problem +
                    "; if you choose to ignore these errors, turn validation off with --validate=false");
}

// An object without a kind or an apiVersion.
Error Incomplete(const ManifestFlags& flags, const json::Value& object, const std::string& source,
                 const std::string& field) {
  if (flags.validates) return InvalidManifest(source, field + " not set");
  json::Value sorted = object;
  std::function<void(json::Value&)> sort = [&](json::Value& value) {
    if (value.is_array())
      for (json::Value& item : value.as_array()) sort(item);
    if (!value.is_object()) return;
    value.as_object().SortKeys();
    for (auto& [key, member] : value.as_object()) sort(member);
  };
  sort(sorted);
  return LocalError("unable to decode \"" + source + "\": Object '" + (field == "kind" ? "Kind" : field) +
                    "' is missing in '" + json::Write(sorted) + "'");
}

Result<Manifest> Resolve(Session& session, json::Value object, const std::string& source,
                         const ManifestFlags& flags) {
  Manifest manifest;
  const auto text = [&](const char* field) {
    return std::string(std::as_const(object)[field].string_or(""));
  };
  manifest.source = source;
  manifest.name = std::as_const(object)["metadata"]["name"].string_or("");
  manifest.ns = std::as_const(object)["metadata"]["namespace"].string_or("");
  for (const char* field : {"kind", "apiVersion"})
    if (text(field).empty()) return Unexpected(Incomplete(flags, object, source, field));
  if (flags.local) {
    const auto [group, version] = SplitApiVersion(text("apiVersion"));
    manifest.kind = {std::string(group), std::string(version), text("kind"), "", true};
    manifest.object = std::move(object);
    return manifest;
  }
  auto kind = session.mapper().ForObject(object);
  if (!kind && kind.error().Is(Reason::kNotFound) && IsOldDefinition(object)) {
    session.err() << "Warning: " << source << ": " << manifest.name
                  << ": apiextensions.k8s.io/v1beta1 is not served; converted to apiextensions.k8s.io/v1\n";
    object = ConvertOldDefinition(std::move(object));
    kind = session.mapper().ForObject(object);
  }
  if (!kind && !kind.error().Is(Reason::kNotFound)) return Unexpected(kind.error());
  if (!kind)
    return Unexpected(LocalError("resource mapping not found for name: \"" + manifest.name +
                                 "\" namespace: \"" + manifest.ns + "\" from \"" + source +
                                 "\": no matches for kind \"" + text("kind") + "\" in version \"" +
                                 text("apiVersion") + "\"\nensure CRDs are installed first"));
  manifest.kind = *kind;
  if (manifest.kind.namespaced) {
    if (!manifest.ns.empty() && session.ns_given() && manifest.ns != session.ns())
      return Unexpected(LocalError(
          "the namespace from the provided object \"" + manifest.ns + "\" does not match the namespace \"" +
          session.ns() + "\". You must pass '--namespace=" + manifest.ns + "' to perform this operation."));
    if (manifest.ns.empty()) manifest.ns = session.ns();
    object["metadata"]["namespace"] = manifest.ns;
  }
  manifest.object = std::move(object);
  return manifest;
}

bool IsList(const json::Value& document) {
  const std::string_view kind = document["kind"].string_or("");
  return document["items"].is_array() && kind.size() >= 4 && kind.substr(kind.size() - 4) == "List";
}

// JSON values one after the other; nothing if the text is anything else.
std::optional<std::vector<json::Value>> JsonStream(std::string_view text) {
  std::vector<json::Value> values;
  for (text = Trimmed(text); !text.empty(); text = Trimmed(text)) {
    if (text[0] != '{') return std::nullopt;
    int depth = 0;
    bool quoted = false;
    std::size_t end = 0;
    do {
      const char c = text[end];
      if (quoted && c == '\\')
        ++end;
      else if (c == '"')
        quoted = !quoted;
      else if (!quoted)
        depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      ++end;
    } while (depth > 0 && end < text.size());
    auto value = json::Parse(text.substr(0, end));
    if (depth != 0 || !value) return std::nullopt;
    values.push_back(std::move(*value));
    text.remove_prefix(end);
  }
  return values;
}

Result<std::vector<json::Value>> Documents(const std::string& text) {
  if (auto values = JsonStream(text); values && !values->empty()) return std::move(*values);
  return json::ParseYamlStream(text);
}

Result<std::vector<json::Value>> ObjectsIn(const Source& source) {
  auto documents = Documents(source.text);
  if (!documents)
    return Unexpected(LocalError("error parsing " + source.name + ": " + documents.error().message()));
  std::vector<json::Value> objects;
  for (json::Value& document : *documents) {
    if (IsList(document))
      for (json::Value& item : document["items"].as_array()) objects.push_back(std::move(item));
    else
      objects.push_back(std::move(document));
  }
  for (const json::Value& object : objects)
    if (!object.is_object()) return Unexpected(InvalidManifest(source.name, "invalid object to validate"));
  return objects;
}

// What the server answers wrongly, or not at all, ends the command all the same.
Status NoteProblem(const Error& error, ReadProblems* problems) {
  if (problems == nullptr || error.Is(Reason::kConnection)) return Unexpected(error);
  problems->Add(error);
  return {};
}

}  // namespace

void AddManifestFlags(const Command& command, ManifestFlags* flags) {
  command.Option("-f,--filename", &flags->files, "File or folder of YAML or JSON; - is standard input");
  command.Flag("-R,--recursive", &flags->recursive, "Folders with what is below them");
  command.Option("-k,--kustomize", &flags->kustomization,
                 "Folder of a kustomization: use what it describes. Not together with -f or -R");
  command.ReadsStdinIf(
      [flags] { return std::find(flags->files.begin(), flags->files.end(), "-") != flags->files.end(); });
}

Result<std::string> ValidationOf(const std::string& validate) {
  if (validate == "strict" || validate == "true") return std::string("Strict");
  if (validate == "warn") return std::string("Warn");
  if (validate == "ignore" || validate == "false") return std::string("Ignore");
  return Unexpected(LocalError("invalid - validate option \"" + validate + "\""));
}

Result<std::string> ReadSource(const std::string& name) {
  FLYBALL_ASSIGN(const auto sources, ReadSources({.files = {name}}));
  if (sources.size() != 1) return Unexpected(LocalError("\"" + name + "\" is not one file"));
  return sources[0].text;
}

void ReadProblems::Report(Session& session) const {
  if (texts_.empty()) return;
  if (texts_.size() == 1) return session.Report(LocalError(texts_[0]));
  std::string all;
  for (const std::string& text : texts_) all += (all.empty() ? "[" : ", ") + text;
  session.err() << all << "]\n";
  session.Report(PrintedError());
}

namespace {

Status KeepSelected(const std::string& label_selector, std::vector<Manifest>& manifests) {
  if (label_selector.empty()) return {};
  FLYBALL_ASSIGN(const api::LabelSelector selector, api::LabelSelector::Parse(label_selector));
  std::erase_if(manifests, [&](const Manifest& manifest) {
    return !selector.Matches(manifest.object["metadata"]["labels"]);
  });
  return {};
}

}  // namespace

Result<std::vector<Manifest>> ReadManifests(Session& session, const ManifestFlags& flags,
                                            ReadProblems* problems) {
  FLYBALL_ASSIGN(const auto sources, ReadSources(flags));
  std::vector<Manifest> manifests;
  for (const Source& source : sources) {
    auto objects = ObjectsIn(source);
    if (!objects) {
      FLYBALL_TRY(NoteProblem(objects.error(), problems));
      continue;
    }
    for (json::Value& object : *objects) {
      auto manifest = Resolve(session, std::move(object), source.name, flags);
      if (manifest)
        manifests.push_back(std::move(*manifest));
      else
        FLYBALL_TRY(NoteProblem(manifest.error(), problems));
    }
  }
  FLYBALL_TRY(KeepSelected(flags.label_selector, manifests));
  const bool any_problem = problems != nullptr && !problems->empty();
  if (manifests.empty() && !any_problem)
    return Unexpected(LocalError("no objects passed to " + session.verb()));
  return manifests;
}

Result<std::vector<ObjectRef>> NamedObjects(Session& session, const ManifestFlags& files,
                                            const std::vector<std::string>& args,
                                            const Selection& selection) {
  if (files.empty()) return ResolveObjects(session, args, selection);
  ReadProblems problems;
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, files, &problems));
  problems.Report(session);
  std::vector<ObjectRef> objects;
  for (const Manifest& m : manifests) objects.push_back({m.kind, m.ns, m.name});
  return objects;
}

}  // namespace flyball::cli
