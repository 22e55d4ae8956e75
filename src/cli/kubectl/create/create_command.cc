#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {

void CreateOptions::AddTo(const Command& command) {
  command.Option("-o,--output", &print.output, "yaml, json, name, jsonpath=...");
  command.Option("--dry-run", &dry_run, "client: only print it; server: everything but storing it");
}

Status CreateObject(Session& session, const CreateOptions& options, json::Value object,
                    std::string_view verb) {
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(options.print));
  FLYBALL_ASSIGN(const KindRef kind, session.mapper().ForObject(object));
  const std::string ns = session.NamespaceFor(kind);
  if (kind.namespaced && (options.dry_run != "client" || session.ns_given()))
    object["metadata"]["namespace"] = ns;
  if (options.dry_run != "client") {
    FLYBALL_ASSIGN(object, session.Create(kind, ns, object, "kubectl-create", options.dry_run == "server"));
  }
  if (printer) {
    session.out() << printer->Print(object);
    return {};
  }
  session.out() << NameOf(object) << " " << verb << DryRunNote(options.dry_run) << "\n";
  return {};
}

namespace {

struct CreateFlags {
  ManifestFlags files;
  CreateOptions options;
  bool save_config = false;
};

Status CreateFromFiles(Session& session, const CreateFlags& flags) {
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.options.print));
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files));
  for (const Manifest& manifest : manifests) {
    auto made = flags.options.dry_run == "client"
                    ? Result<json::Value>(manifest.object)
                    : session.Create(manifest.kind, manifest.ns,
                                     flags.save_config ? WithLastApplied(manifest.object) : manifest.object,
                                     "kubectl-create", flags.options.dry_run == "server");
    if (!made)
      session.Report(made.error().Annotate("error when creating \"" + manifest.source + "\""));
    else if (printer)
      session.out() << printer->Print(*made);
    else
      session.out() << NameOf(*made) << " created" << DryRunNote(flags.options.dry_run) << "\n";
  }
  return {};
}

}  // namespace

void AddCreateCommand(const Command& root) {
  auto flags = std::make_shared<CreateFlags>();
  const Command create = root.Sub(
      "create", "Create objects, from files or from flags",
      "flyball create -f web.yaml\n  flyball create deployment web --image=host --replicas=2 -- sleep 1000");
  AddManifestFlags(create, &flags->files);
  flags->options.AddTo(create);
  create.Flag("--save-config", &flags->save_config, "Remember what is created, for a later apply");
  AddConfigCreators(create);
  AddWorkloadCreators(create);
  AddAccessCreators(create);
  RunVerb(create, [flags](Session& session) { return CreateFromFiles(session, *flags); });
}

}  // namespace flyball::cli
