#include "cli/kustomize/kustomize_command.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>

#include "base/values/ascii.h"
#include "cli/kustomize/build.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/resource_text.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

using kustomize::Fail;
using kustomize::Resource;
using kustomize::ResourceList;

struct KustomizeFlags {
  std::vector<std::string> args;
  std::string output, load_restrictor, reorder, helm_command = "helm", helm_kube_version,
                                                network_name = "bridge";
  std::vector<std::string> environment, mounts, helm_api_versions;
  bool plugins = false, helm = false, helm_debug = false, network = false, as_current_user = false;
};

Status WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Fail("cannot write " + path.string());
  return {};
}

// "apps_v1_deployment_web.yaml"
std::string FileName(const Resource& resource) {
  const kustomize::Gvk gvk = resource.gvk();
  std::string name;
  for (const std::string& part : {gvk.group, gvk.version, gvk.kind})
    if (!part.empty()) name += (name.empty() ? "" : "_") + part;
  return LowerCase(name + "_" + resource.name()) + ".yaml";
}

// One file for each object; the namespace is part of the name if there are several.
Status WriteFiles(const std::string& folder, const ResourceList& resources) {
  std::set<std::string> namespaces;
  for (const auto& resource : resources.items())
    if (!resource->gvk().IsClusterScoped()) namespaces.insert(resource->Id().EffectiveNamespace());
  for (const auto& resource : resources.items()) {
    std::string name = FileName(*resource);
    if (namespaces.size() > 1 && !resource->gvk().IsClusterScoped())
      name = LowerCase(resource->Id().EffectiveNamespace()) + "_" + name;
    FLYBALL_TRY(WriteFile(std::filesystem::path(folder) / name, json::WriteYaml(resource->object)));
  }
  return {};
}

Status CheckValue(const char* flag, const std::string& value, const std::set<std::string>& legal,
                  const std::string& legal_text) {
  if (value.empty() || legal.count(value) > 0) return {};
  return Fail("illegal flag value --" + std::string(flag) + " " + value + "; legal values: " + legal_text);
}

Status RunKustomize(const KustomizeFlags& flags) {
  if (flags.args.size() > 1) return Fail("specify one path to kustomization.yaml");
  FLYBALL_TRY(CheckValue("load-restrictor", flags.load_restrictor,
                         {"rootOnly", "none", "LoadRestrictionsRootOnly", "LoadRestrictionsNone"},
                         "[LoadRestrictionsRootOnly LoadRestrictionsNone]"));
  FLYBALL_TRY(CheckValue("reorder", flags.reorder, {"legacy", "none"}, "[legacy none]"));
  if (flags.helm) return Fail("--enable-helm: Helm charts are not implemented here");
  if (flags.plugins) return Fail("--enable-alpha-plugins: plugins of kustomize are not implemented here");
  kustomize::BuildOptions options;
  options.files_anywhere = flags.load_restrictor == "LoadRestrictionsNone" || flags.load_restrictor == "none";
  options.keep_order = flags.reorder == "none";
  FLYBALL_ASSIGN(const ResourceList resources,
                 kustomize::BuildKustomization(flags.args.empty() ? "." : flags.args[0], options, std::cerr));
  std::error_code code;
  if (!flags.output.empty() && std::filesystem::is_directory(flags.output, code))
    return WriteFiles(flags.output, resources);
  const std::string text = kustomize::WriteResources(resources);
  if (!flags.output.empty()) return WriteFile(flags.output, text);
  std::cout << text << std::flush;
  return {};
}

}  // namespace

void AddKustomizeCommand(const Command& root) {
  auto flags = std::make_shared<KustomizeFlags>();
  const Command command = root.Sub("kustomize", "Build the objects that a kustomization describes",
                                   "flyball kustomize overlays/production");
  command.Args("DIR", &flags->args, "Folder with a kustomization.yaml; the current one if left out");
  command.Option("-o,--output", &flags->output, "Write to this file, or one file per object to this folder");
  command.Option("--load-restrictor", &flags->load_restrictor,
                 "LoadRestrictionsNone: files may be outside the folder of their kustomization");
  command.Option("--reorder", &flags->reorder,
                 "legacy or none; sortOptions in kustomization.yaml goes first");
  // Of functions and charts, which are refused: these have nothing to say.
  command.Flag("--enable-alpha-plugins", &flags->plugins, "Not implemented: refused");
  command.Flag("--enable-helm", &flags->helm, "Not implemented: refused");
  command.Option("--helm-command", &flags->helm_command, "Without effect");
  command.Option("--helm-kube-version", &flags->helm_kube_version, "Without effect");
  command.Option("--helm-api-versions", &flags->helm_api_versions, "Without effect");
  command.Flag("--helm-debug", &flags->helm_debug, "Without effect");
  command.Option("-e,--env", &flags->environment, "Without effect");
  command.Option("--mount", &flags->mounts, "Without effect");
  command.Flag("--network", &flags->network, "Without effect");
  command.Option("--network-name", &flags->network_name, "Without effect");
  command.Flag("--as-current-user", &flags->as_current_user, "Without effect");
  command.RunLocal([flags] {
    const auto done = RunKustomize(*flags);
    if (done) return 0;
    const std::string text = ErrorText(done.error());
    std::cerr << text << (text.ends_with('\n') ? "" : "\n");
    return 1;
  });
}

}  // namespace flyball::cli
