#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "cli/kubectl/verbs/cluster_dump.h"

namespace flyball::cli {
namespace {

struct DiscoveryFlags {
  std::string output, sort_by, api_group, namespaced, verbs;
  std::vector<std::string> args, categories;
  bool no_headers = false, has_group = false, cached = false;
};

std::string Join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ",") + part;
  return out;
}

// Only resources served in the group's preferred version.
std::vector<ApiResource> Preferred(const std::vector<ApiResource>& all) {
  std::vector<ApiResource> out;
  for (const ApiResource& resource : all) {
    const auto same = [&](const ApiResource& other) {
      return other.ref.group == resource.ref.group && other.ref.version != resource.ref.version &&
             other.ref.plural == resource.ref.plural;
    };
    // Preferred versions come first.
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(resource);
  }
  return out;
}

bool Wanted(const DiscoveryFlags& flags, const ApiResource& resource) {
  if (resource.verbs.empty()) return false;
  if (!flags.api_group.empty() && resource.ref.group != flags.api_group) return false;
  if (flags.namespaced == "true" && !resource.ref.namespaced) return false;
  if (flags.namespaced == "false" && resource.ref.namespaced) return false;
  for (const std::string& category : flags.categories)
    if (std::find(resource.categories.begin(), resource.categories.end(), category) ==
        resource.categories.end())
      return false;
  if (flags.verbs.empty()) return true;
  for (const std::string& verb : SplitText(flags.verbs, ','))
    if (std::find(resource.verbs.begin(), resource.verbs.end(), verb) == resource.verbs.end()) return false;
  return true;
}

void Sort(const DiscoveryFlags& flags, std::vector<ApiResource>& resources) {
  std::stable_sort(resources.begin(), resources.end(), [&](const ApiResource& a, const ApiResource& b) {
    if (flags.sort_by == "name") return a.ref.plural < b.ref.plural;
    if (flags.sort_by == "kind") return a.ref.kind < b.ref.kind;
    return std::pair(a.ref.group, a.ref.plural) < std::pair(b.ref.group, b.ref.plural);
  });
}

Status PrintResources(Session& session, const DiscoveryFlags& flags) {
  if (!flags.args.empty()) {
    std::string words;
    for (const std::string& arg : flags.args) words += (words.empty() ? "" : " ") + arg;
    return Unexpected(session.UsageError("unexpected arguments: [" + words + "]"));
  }
  if (!flags.sort_by.empty() && flags.sort_by != "name" && flags.sort_by != "kind")
    return Unexpected(LocalError("--sort-by accepts only name or kind"));
  if (!flags.output.empty() && flags.output != "wide" && flags.output != "name")
    return Unexpected(LocalError("--output " + flags.output + " is not available"));
  if (!flags.cached) session.ForgetDiscovery();
  FLYBALL_ASSIGN(const auto all, session.mapper().Resources());
  std::vector<ApiResource> resources;
  for (const ApiResource& resource : Preferred(all))
    if (Wanted(flags, resource)) resources.push_back(resource);
  Sort(flags, resources);
  const bool wide = flags.output == "wide";
  TabWriter writer = TableWriter();
  if (!flags.no_headers && flags.output != "name")
    writer.Write(std::string("NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND") +
                 (wide ? "\tVERBS\tCATEGORIES\n" : "\n"));
  for (const ApiResource& resource : resources) {
    const KindRef& ref = resource.ref;
    if (flags.output == "name") {
      writer.Write(ref.GroupResource() + "\n");
      continue;
    }
    writer.Write(ref.plural + "\t" + Join(resource.short_names) + "\t" + ref.ApiVersion() + "\t" +
                 (ref.namespaced ? "true" : "false") + "\t" + ref.kind);
    if (wide) writer.Write("\t" + Join(resource.verbs) + "\t" + Join(resource.categories));
    writer.Write("\n");
  }
  session.out() << writer.Take();
  return {};
}

Status PrintVersions(Session& session) {
  RestRequest request;
  request.path = "/apis";
  FLYBALL_ASSIGN(const json::Value groups, session.Call(std::move(request)));
  std::vector<std::string> versions{"v1"};
  if (groups["groups"].is_array())
    for (const json::Value& group : groups["groups"].as_array())
      for (const json::Value& version : group["versions"].as_array())
        versions.emplace_back(version["groupVersion"].string_or(""));
  std::sort(versions.begin(), versions.end());
  for (const std::string& version : versions) session.out() << version << "\n";
  return {};
}

Status PrintClusterInfo(Session& session) {
  RestRequest request;
  request.path = "/version";
  FLYBALL_TRY(session.Call(std::move(request)));
  session.out() << "Kubernetes control plane is running at " << session.url()
                << "\n\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.\n";
  return {};
}

}  // namespace

void AddDiscoveryCommands(const Command& root) {
  auto flags = std::make_shared<DiscoveryFlags>();
  const Command resources = root.Sub("api-resources", "List the kinds the server serves",
                                     "flyball api-resources --api-group=apps -o wide");
  resources.Args("", &flags->args, "None");
  resources.Option("-o,--output", &flags->output, "wide or name");
  resources.List("--categories", &flags->categories, "Only those in these categories: all");
  resources.Flag("--cached", &flags->cached, "What was read before, without asking the server");
  resources.Option("--sort-by", &flags->sort_by, "name or kind");
  resources.Option("--api-group", &flags->api_group, "Only this group");
  resources.Option("--namespaced", &flags->namespaced,
                   "true or false: only those with or without a namespace");
  resources.Option("--verbs", &flags->verbs, "Only those with these verbs");
  resources.Flag("--no-headers", &flags->no_headers, "Leave out the line of headers");
  RunVerb(resources, [flags](Session& session) { return PrintResources(session, *flags); });
  RunVerb(root.Sub("api-versions", "List the groups and versions the server serves", "flyball api-versions"),
          &PrintVersions);
  const Command info = root.Sub("cluster-info", "Say where the server is", "flyball cluster-info");
  auto words = std::make_shared<std::vector<std::string>>();
  info.Args("", words.get(), "Not used");
  AddClusterDumpCommand(info);
  RunVerb(info, [words](Session& session) { return PrintClusterInfo(session); });
}

}  // namespace flyball::cli
