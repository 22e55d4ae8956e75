// `config view`: the kubeconfig as it is used, from one file or several.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/files/durable_file.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/verbs/config_file.h"
#include "json/yaml/yaml.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

constexpr const char* kDirectory = " directory";  // of an entry's file, while it is worked on

struct ViewFlags {
  PrintFlags print{.output = "yaml"};
  bool raw = false, minify = false, flatten = false, merge = true;
};

struct ViewedList {
  const char* list;
  const char* member;
};
constexpr ViewedList kViewedLists[] = {{"clusters", "cluster"}, {"contexts", "context"}, {"users", "user"}};

json::Value* FindNamed(json::Value& list, std::string_view name) {
  if (list.is_array())
    for (json::Value& entry : list.as_array())
      if (std::as_const(entry)["name"].string_or("") == name) return &entry;
  return nullptr;
}

// Of entries with one name, the first counts.
void MergeFile(json::Value& merged, const json::Value& file, const std::string& path) {
  if (std::as_const(merged)["current-context"].string_or("").empty())
    merged["current-context"] = std::string(file["current-context"].string_or(""));
  for (const ViewedList& kind : kViewedLists) {
    if (file[kind.list].is_array() && !std::as_const(merged)[kind.list].is_array())
      merged[kind.list] = json::Array();
    for (json::Value entry : Elements(file[kind.list])) {
      if (FindNamed(merged[kind.list], std::as_const(entry)["name"].string_or(""))) continue;
      entry[kDirectory] = std::filesystem::absolute(path).parent_path().string();
      merged[kind.list].as_array().push_back(std::move(entry));
    }
  }
}

Result<json::Value> Merged(const Invocation& invocation) {
  json::Value merged = json::Object{{"apiVersion", "v1"},    {"clusters", nullptr}, {"contexts", nullptr},
                                    {"current-context", ""}, {"kind", "Config"},    {"users", nullptr}};
  const std::string& given = invocation.connection.kubeconfig;
  const std::string list = FromEnvironment({"KUBECONFIG"}, FromEnvironment({"HOME"}, "") + "/.kube/config");
  for (const std::string& path : given.empty() ? SplitText(list, ':') : std::vector<std::string>{given}) {
    std::error_code unreadable;
    if (path.empty() || (given.empty() && !std::filesystem::exists(path, unreadable))) continue;
    const auto text = ReadFile(path);
    if (!text) return Unexpected(LocalError("stat " + path + ": no such file or directory"));
    const auto file = json::ParseYaml(*text);
    if (!file)
      return Unexpected(LocalError("error loading config file \"" + path + "\": " + file.error().message()));
    MergeFile(merged, *file, path);
  }
  for (const ViewedList& kind : kViewedLists)
    if (merged[kind.list].is_array())
      std::sort(merged[kind.list].as_array().begin(), merged[kind.list].as_array().end(),
                [](const json::Value& a, const json::Value& b) {
                  return a["name"].string_or("") < b["name"].string_or("");
                });
  return merged;
}

// Only what the current context uses.
Status Minify(json::Value& config, const std::string& context) {
  if (!context.empty()) config["current-context"] = context;
  const std::string name(std::as_const(config)["current-context"].string_or(""));
  if (name.empty()) return Unexpected(LocalError("current-context must exist in order to minify"));
  const json::Value* current = FindNamed(config["contexts"], name);
  if (!current) return Unexpected(LocalError("cannot locate context " + name));
  const json::Value used = (*current)["context"];
  const auto keep = [&](const ViewedList& kind, std::string_view wanted) {
    const json::Value* there = FindNamed(config[kind.list], wanted);
    json::Value only = there ? json::Value(json::Array{*there}) : json::Value();
    config[kind.list] = std::move(only);
  };
  keep(kViewedLists[0], used["cluster"].string_or(""));
  keep(kViewedLists[1], name);
  keep(kViewedLists[2], used["user"].string_or(""));
  return {};
}

// Files become data.
Status FlattenEntry(json::Value& body, const std::filesystem::path& folder) {
  for (const std::string field : {"certificate-authority", "client-certificate", "client-key"}) {
    const std::string path(std::as_const(body)[field].string_or(""));
    if (path.empty()) continue;
    FLYBALL_ASSIGN(const std::string bytes, ReadFile((folder / path).string()));
    body.as_object().Erase(field);
    body[field + "-data"] = net::Base64Encode(bytes);
  }
  return {};
}

Status Flatten(json::Value& config) {
  for (const ViewedList& kind : kViewedLists) {
    if (!config[kind.list].is_array()) continue;
    for (json::Value& entry : config[kind.list].as_array())
      FLYBALL_TRY(
          FlattenEntry(entry[kind.member], std::string(std::as_const(entry)[kDirectory].string_or(""))));
  }
  return {};
}

// Keys and passwords must not appear on a screen.
void HideSecrets(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) HideSecrets(item);
  if (!value.is_object()) return;
  for (auto& [key, member] : value.as_object()) {
    if (key.ends_with("-data"))
      member = "DATA+OMITTED";
    else if (key == "token" || key == "password")
      member = "REDACTED";
    else
      HideSecrets(member);
  }
}

// As the API's types are written: members that are always there.
void Complete(json::Value& config) {
  for (const ViewedList& kind : kViewedLists) {
    if (!config[kind.list].is_array()) continue;
    for (json::Value& entry : config[kind.list].as_array()) {
      entry.as_object().Erase(kDirectory);
      json::Value* exec = entry[kind.member].Find("exec");
      if (!exec || !exec->is_object()) continue;
      for (const char* member : {"args", "env"})
        if (!exec->Find(member)) (*exec)[member] = nullptr;
      if (!exec->Find("provideClusterInfo")) (*exec)["provideClusterInfo"] = false;
    }
  }
}

Status View(const Invocation& invocation, const ViewFlags& flags) {
  if (!flags.merge && invocation.connection.kubeconfig.empty())
    return Unexpected(LocalError("if merge==false a precise file must be specified"));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(json::Value config, Merged(invocation));
  if (flags.minify) FLYBALL_TRY(Minify(config, invocation.connection.context));
  if (flags.flatten)
    FLYBALL_TRY(Flatten(config));
  else if (!flags.raw)
    HideSecrets(config);
  Complete(config);
  SortKeysDeep(config);
  return printer ? PrintTo(std::cout, *printer, config) : Status();
}

}  // namespace

void AddConfigViewCommand(const Command& config) {
  auto flags = std::make_shared<ViewFlags>();
  const Command view =
      config.Sub("view", "Print it, without keys and passwords", "flyball config view --minify");
  AddPrintFlags(view, &flags->print);
  view.Flag("--raw", &flags->raw, "With keys and passwords");
  view.Flag("--minify", &flags->minify, "Only what the current context uses");
  view.Flag("--flatten", &flags->flatten, "With the contents of files instead of their names");
  view.Flag("--merge", &flags->merge, "All files of $KUBECONFIG (default)");
  view.RunLocal([flags, invocation = &view.invocation()] {
    const Status done = View(*invocation, *flags);
    if (!done) std::cerr << ErrorText(done.error()) << "\n";
    return done ? 0 : 1;
  });
}

}  // namespace flyball::cli
