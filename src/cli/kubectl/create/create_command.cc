#include <map>
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
  AddPrintFlags(command, &print);
  AddDryRunFlag(command, &dry_run);
  command.Option("--field-manager", &field_manager, "Who is said to own the fields");
  command.Option("--validate", &validate, "strict, warn or ignore: what to do about unknown fields",
                 "strict");
  command.Flag("--save-config", &save_config, "Remember what is created, for a later apply");
}

namespace {

// How kubectl names a kind it failed to create; the other kinds' errors are shown as the server gave them.
std::string_view FailedKind(std::string_view kind) {
  static const std::map<std::string_view, std::string_view> kNames{
      {"ClusterRoleBinding", "clusterrolebinding:"},
      {"ConfigMap", "configmap:"},
      {"CronJob", "cronjob:"},
      {"Deployment", "deployment:"},
      {"Ingress", "ingress:"},
      {"Job", "job:"},
      {"PodDisruptionBudget", "poddisruptionbudgets:"},
      {"PriorityClass", "priorityclass:"},
      {"ResourceQuota", "quota:"},
      {"RoleBinding", "rolebinding:"},
      {"Secret", "secret"},
      {"ServiceAccount", "serviceaccount:"}};
  const auto found = kNames.find(kind);
  return found == kNames.end() ? std::string_view() : found->second;
}

Error CreateError(const json::Value& object, const Error& error) {
  const std::string_view kind = object["kind"].string_or("");
  if (kind == "Service")
    return LocalError("failed to create " + std::string(object["spec"]["type"].string_or("ClusterIP")) +
                      " service: " + error.message());
  const std::string_view name = FailedKind(kind);
  return name.empty() ? error : LocalError("failed to create " + std::string(name) + " " + error.message());
}

}  // namespace

Status CreateObject(Session& session, const CreateOptions& options, json::Value object,
                    std::string_view verb) {
  FLYBALL_TRY(CheckDryRun(options.dry_run));
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(options.validate));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(options.print));
  FLYBALL_ASSIGN(const KindRef kind, session.mapper().ForObject(object));
  const std::string ns = session.NamespaceFor(kind);
  if (kind.namespaced && (options.dry_run != "client" || session.ns_given()))
    object["metadata"]["namespace"] = ns;
  if (options.save_config) object = WithLastApplied(object);
  if (options.dry_run != "client") {
    auto made =
        session.Create(kind, ns, object, options.field_manager, options.dry_run == "server", validation);
    if (!made) return Unexpected(verb == "created" ? CreateError(object, made.error()) : made.error());
    object = std::move(*made);
  }
  if (printer) {
    return PrintTo(session.out(), *printer, object);
  }
  session.out() << NameOf(object) << " " << verb << DryRunNote(options.dry_run) << "\n";
  return {};
}

namespace {

struct CreateFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  CreateOptions options;
  std::string raw;
};

// Sends the one file to the path as it is, and prints what comes back.
Status CreateRaw(Session& session, const CreateFlags& flags) {
  if (flags.files.files.size() != 1)
    return Unexpected(LocalError("--raw can only use a single local file or stdin"));
  FLYBALL_ASSIGN(const std::string body, ReadSource(flags.files.files[0]));
  RestRequest request = RawRequest(flags.raw);
  request.verb = "POST";
  request.body = body;
  FLYBALL_ASSIGN(const std::string answer, session.CallText(std::move(request)));
  session.out() << answer;
  return {};
}

Status CreateFromFiles(Session& session, const CreateFlags& flags) {
  if (!flags.args.empty()) {
    std::string words;
    for (const std::string& arg : flags.args) words += (words.empty() ? "" : " ") + arg;
    return Unexpected(session.UsageError("Unexpected args: [" + words + "]"));
  }
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_TRY(CheckDryRun(flags.options.dry_run));
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(flags.options.validate));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.options.print));
  ReadProblems problems;
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files, &problems));
  for (const Manifest& manifest : manifests) {
    auto made =
        flags.options.dry_run == "client"
            ? Result<json::Value>(manifest.object)
            : session.Create(manifest.kind, manifest.ns,
                             flags.options.save_config ? WithLastApplied(manifest.object) : manifest.object,
                             flags.options.field_manager, flags.options.dry_run == "server", validation);
    if (!made)
      session.Report(made.error().Annotate("error when creating \"" + manifest.source + "\""));
    else if (printer)
      FLYBALL_TRY(PrintTo(session.out(), *printer, *made));
    else
      session.out() << NameOf(*made) << " created" << DryRunNote(flags.options.dry_run) << "\n";
  }
  problems.Report(session);
  return {};
}

}  // namespace

void AddCreateCommand(const Command& root) {
  auto flags = std::make_shared<CreateFlags>();
  const Command create = root.Sub(
      "create", "Create objects, from files or from flags",
      "flyball create -f web.yaml\n  flyball create deployment web --image=host --replicas=2 -- sleep 1000");
  create.Args("", &flags->args, "None: what to create is a command, or in a file");
  AddManifestFlags(create, &flags->files);
  flags->options.AddTo(create);
  create.Option("-l,--selector", &flags->files.label_selector, "Only objects of the files with these labels");
  create.Option("--raw", &flags->raw, "Post the file to this path as it is");
  AddConfigCreators(create);
  AddWorkloadCreators(create);
  AddNetworkCreators(create);
  AddAccessCreators(create);
  RunVerb(create, [flags](Session& session) {
    return flags->raw.empty() ? CreateFromFiles(session, *flags) : CreateRaw(session, *flags);
  });
}

}  // namespace flyball::cli
