#include "server/documents/component_pages.h"

#include "api/kubernetes_version.h"
#include "api/schema/feature_gates.h"
#include "api/values/time.h"
#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::server {
namespace {

constexpr std::string_view kComponent = "kube-apiserver";
constexpr std::string_view kRuntime = "none";  // upstream: the version of Go

// The form a client asks for: empty is text, else the version of the structured kind.
Result<std::string> NegotiatePage(std::string_view accept, std::string_view kind) {
  if (accept.empty()) return std::string();
  for (const std::string& part : SplitWords(accept, ",")) {
    std::map<std::string, std::string, std::less<>> parameters;
    const auto words = SplitText(part, ';');
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string_view word = Trimmed(words[i]);
      const auto equals = word.find('=');
      if (equals != std::string_view::npos)
        parameters[std::string(word.substr(0, equals))] = word.substr(equals + 1);
    }
    const std::string_view type = Trimmed(words[0]);
    if (type == "text/plain" || type == "text/*" || type == "*/*") return std::string();
    const std::string& version = parameters["v"];
    if (type == "application/json" && parameters["g"] == "config.k8s.io" && parameters["as"] == kind &&
        (version == "v1beta1" || version == "v1alpha1"))
      return version;
  }
  return Unexpected(Error(Reason::kNotAcceptable,
                          "only the following media types are accepted: text/plain, "
                          "application/json;v=v1beta1;g=config.k8s.io;as=" +
                              std::string(kind)));
}

std::string Header(std::string_view page) {
  return "\n" + std::string(kComponent) + " " + std::string(page) +
         "\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
         "guarantees and is for debugging purposes only.\n";
}

Answer Structured(const std::string& version, std::string_view kind, json::Object fields) {
  json::Object object{{"kind", kind},
                      {"apiVersion", "config.k8s.io/" + version},
                      {"metadata", json::Object{{"name", kComponent}}}};
  for (auto& [key, value] : fields) object.Set(key, std::move(value));
  return {200, "application/json;v=" + version + ";g=config.k8s.io;as=" + std::string(kind),
          json::Write(object)};
}

std::string EmulatedVersion() {
  return std::to_string(api::kKubernetesMajor) + "." + std::to_string(api::ProcessGates().minor());
}

}  // namespace

Result<Answer> StatusPage(const ComponentFacts& facts, const std::vector<std::string>& paths, TimePoint now,
                          std::string_view accept) {
  FLYBALL_ASSIGN(const std::string version, NegotiatePage(accept, "Statusz"));
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(now - facts.started).count();
  const std::string started = api::FormatTime(facts.started);
  const std::string_view binary = api::kKubernetesVersion.substr(1);
  if (!version.empty())
    return Structured(version, "Statusz",
                      json::Object{{"startTime", started},
                                   {"uptimeSeconds", up},
                                   {"goVersion", kRuntime},
                                   {"binaryVersion", binary},
                                   {"emulationVersion", EmulatedVersion()},
                                   {"paths", json::Array(paths.begin(), paths.end())}});
  std::string text = Header("statusz") + "\nStarted: " + started + "\nUp: " + std::to_string(up) +
                     "s\nGo version: " + std::string(kRuntime) + "\nBinary version: " + std::string(binary) +
                     "\nEmulation version: " + EmulatedVersion() + "\nPaths:";
  for (const std::string& path : paths) text += " " + path;
  return Answer{200, "text/plain; charset=utf-8", text + "\n"};
}

Result<Answer> FlagsPage(const ComponentFacts& facts, std::string_view accept) {
  FLYBALL_ASSIGN(const std::string version, NegotiatePage(accept, "Flagz"));
  json::Object flags;
  std::string text = Header("flagz");
  for (const auto& [name, value] : facts.flags) {
    flags.Set(name, value);
    text += name + "=" + value + "\n";
  }
  if (!version.empty())
    return Structured(version, "Flagz", json::Object{{"flags", json::Value(std::move(flags))}});
  return Answer{200, "text/plain; charset=utf-8", std::move(text)};
}

}  // namespace flyball::server
