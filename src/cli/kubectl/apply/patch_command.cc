#include <fstream>
#include <iterator>
#include <memory>

#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct PatchFlags {
  std::vector<std::string> args;
  std::string type = "strategic", patch, patch_file, subresource;
  PrintFlags print;
};

Result<std::string_view> ContentType(const std::string& type, const KindRef& kind) {
  if (type == "json") return kJsonPatch;
  if (type == "merge") return kMergePatch;
  if (type != "strategic")
    return Unexpected(LocalError("--type must be one of [json merge strategic], not \"" + type + "\""));
  // Custom kinds have no strategic merge.
  return api::FindBuiltinKind(kind.group, kind.version, kind.kind) ? kStrategicPatch : kMergePatch;
}

Result<json::Value> PatchOf(const PatchFlags& flags) {
  std::string text = flags.patch;
  if (!flags.patch_file.empty()) {
    std::ifstream in(flags.patch_file, std::ios::binary);
    if (!in) return Unexpected(LocalError("unable to read patch file: " + flags.patch_file));
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  if (text.empty())
    return Unexpected(
        LocalError("must specify --patch or --patch-file containing the contents of the patch"));
  auto patch = json::ParseYaml(text);
  if (!patch) return Unexpected(LocalError("unable to parse \"" + text + "\": " + patch.error().message()));
  return patch;
}

Status RunPatch(Session& session, const PatchFlags& flags) {
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const json::Value patch, PatchOf(flags));
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, flags.args, {}));
  for (const ObjectRef& object : objects) {
    FLYBALL_ASSIGN(const auto content_type, ContentType(flags.type, object.kind));
    FLYBALL_ASSIGN(const json::Value before, session.Get(object.kind, object.ns, object.name));
    FLYBALL_ASSIGN(const json::Value after, session.Patch(object.kind, object.ns, object.name, content_type,
                                                          patch, "kubectl-patch", flags.subresource));
    const bool same = before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"];
    if (printer)
      FLYBALL_TRY(PrintTo(session.out(), *printer, after));
    else
      session.out() << DisplayName(object.kind, object.name) << " patched" << (same ? " (no change)" : "")
                    << "\n";
  }
  return {};
}

}  // namespace

void AddPatchCommand(const Command& root) {
  auto flags = std::make_shared<PatchFlags>();
  const Command command = root.Sub("patch", "Change parts of an object",
                                   "flyball patch deploy web -p '{\"spec\":{\"replicas\":3}}'");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  command.Option("-p,--patch", &flags->patch, "The patch, as JSON or YAML");
  command.Option("--patch-file", &flags->patch_file, "A file with the patch");
  command.Option("--type", &flags->type, "strategic, merge or json");
  command.Option("--subresource", &flags->subresource, "status or scale");
  command.Option("-o,--output", &flags->print.output, "yaml, json, name, jsonpath=...");
  RunVerb(command, [flags](Session& session) { return RunPatch(session, *flags); });
}

}  // namespace flyball::cli
