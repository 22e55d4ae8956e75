#include <map>
#include <memory>

#include "api/merge/strategic_merge.h"
#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/apply/editor.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "cli/kustomize/transform/generator.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {

void CreateOptions::AddTo(const Command& command) {
  AddPrintFlags(command, &print);
  AddDryRunFlag(command, &dry_run);
  command.Option("--field-manager", &field_manager, "Who is said to own the fields");
  command.Option("--validate", &validate, "strict, warn or ignore: what to do about unknown fields",
                 "strict");
  command.Flag("--save-config", &save_config, "Remember what is created, for a later apply");
}

void OverrideFlags::AddTo(const Command& command, const std::string& otherwise) {
  type = otherwise;
  command.Option("--overrides", &text, "A patch of the object, as JSON, before it is created");
  command.Option("--override-type", &type, "How --overrides is applied: merge, strategic or json");
}

Result<json::Value> OverrideFlags::Apply(json::Value object) const {
  if (text.empty()) return object;
  auto patch = json::ParseYaml(text);
  if (!patch) return Unexpected(LocalError("unable to parse --overrides: " + patch.error().message()));
  if (type == "json") return json::ApplyJsonPatch(object, *patch);
  if (type == "merge") return json::ApplyMergePatch(std::move(object), *patch);
  if (type != "strategic") return Unexpected(LocalError("invalid override type: " + type));
  const auto [group, version] = SplitApiVersion(std::as_const(object)["apiVersion"].string_or(""));
  const std::string kind(std::as_const(object)["kind"].string_or(""));
  return api::StrategicMerge(*api::FindBuiltinKind(group, version, kind)->type, std::move(object), *patch);
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

// Without asking the server, if nothing is sent to it.
Result<KindRef> KindOf(Session& session, const CreateOptions& options, const json::Value& object) {
  const auto [group, version] = SplitApiVersion(object["apiVersion"].string_or(""));
  const std::string_view name = object["kind"].string_or("");
  const api::KindInfo* builtin = api::FindBuiltinKind(group, version, name);
  if (options.dry_run != "client" || !builtin) return session.mapper().ForObject(object);
  return KindRef{std::string(group), std::string(version), std::string(name), std::string(builtin->plural),
                 builtin->namespaced};
}

void CreateOptions::AddHashFlag(const Command& command) {
  command.Flag("--append-hash", &append_hash, "Let the name end with a hash of the content");
}

namespace {

// As kubectl makes it: what is not there is empty in one kind and left out in the other.
std::string HashOf(const json::Value& object) {
  json::Value content = json::Object{{"kind", object["kind"]},
                                     {"name", object["metadata"]["name"]},
                                     {"data", object["data"].is_object() ? object["data"] : json::Object()}};
  if (object["kind"].string_or("") == "Secret")
    content["type"] = object["type"].string_or("");
  else if (object["binaryData"].is_object())
    content["binaryData"] = object["binaryData"];
  return kustomize::NameHash(std::move(content));
}

}  // namespace

Status CreateObject(Session& session, const CreateOptions& options, json::Value object,
                    std::string_view verb) {
  FLYBALL_TRY(CheckDryRun(options.dry_run));
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(options.validate));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(options.print));
  FLYBALL_ASSIGN(const KindRef kind, KindOf(session, options, object));
  if (options.append_hash)
    object["metadata"]["name"] =
        std::string(std::as_const(object)["metadata"]["name"].string_or("")) + "-" + HashOf(object);
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
  bool edit = false, windows = false;
};

// Sends the one file to the path as it is, and prints what comes back.
Status CreateRaw(Session& session, const CreateFlags& flags) {
  const auto exclusive = [&](const char* flag) {
    return Unexpected(LocalError(std::string("--raw and ") + flag + " are mutually exclusive"));
  };
  if (flags.edit) return exclusive("--edit");
  const auto& files = flags.files.files;
  if (files.size() != 1) return Unexpected(LocalError("--raw can only use a single local file or stdin"));
  if (files[0].starts_with("http://") || files[0].starts_with("https://"))
    return Unexpected(LocalError("--raw cannot read from a url"));
  if (flags.files.recursive) return exclusive("--recursive");
  if (!flags.files.label_selector.empty()) return exclusive("--selector (-l)");
  if (!flags.options.print.output.empty()) return exclusive("--output");
  if (!flags.raw.starts_with('/')) return Unexpected(LocalError("--raw must be a valid URL path"));
  FLYBALL_ASSIGN(const std::string body, ReadSource(flags.files.files[0]));
  RestRequest request = RawRequest(flags.raw);
  request.verb = "POST";
  request.body = body;
  FLYBALL_ASSIGN(const std::string answer, session.CallText(std::move(request)));
  session.out() << answer;
  return {};
}

// Creates one object and says so.
Status CreateOne(Session& session, const CreateFlags& flags, const Manifest& manifest,
                 const std::string& validation, ObjectPrinter* printer) {
  const CreateOptions& options = flags.options;
  const json::Value object = options.save_config ? WithLastApplied(manifest.object) : manifest.object;
  auto made = options.dry_run == "client"
                  ? Result<json::Value>(object)
                  : session.Create(manifest.kind, manifest.ns, object, options.field_manager,
                                   options.dry_run == "server", validation);
  if (!made) return Unexpected(made.error().Annotate("error when creating \"" + manifest.source + "\""));
  if (printer) return PrintTo(session.out(), *printer, *made);
  session.out() << NameOf(*made) << " created" << DryRunNote(options.dry_run) << "\n";
  return {};
}

// --edit: what the user makes of it is created.
Status EditAndCreate(Session& session, const CreateFlags& flags, const Manifest& manifest,
                     const std::string& validation, ObjectPrinter* printer) {
  const bool as_json = flags.options.print.output == "json";
  FLYBALL_ASSIGN(const auto text_printer, NewObjectPrinter({.output = as_json ? "json" : "yaml"}));
  FLYBALL_ASSIGN(const std::string text, text_printer->Print(manifest.object));
  return EditText(
      session, text, {.json = as_json, .windows = flags.windows},
      [&](const std::string& saved) -> Result<EditVerdict> {
        auto object = json::ParseYaml(saved);
        if (!object)
          return EditVerdict{.problems = {"The edited file had a syntax error: error parsing edited-file: " +
                                          object.error().message()}};
        Manifest edited = manifest;
        edited.object = std::move(*object);
        FLYBALL_TRY(CreateOne(session, flags, edited, validation, printer));
        return EditVerdict{};
      });
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
    const auto create = flags.edit ? &EditAndCreate : &CreateOne;
    if (const Status done = create(session, flags, manifest, validation, printer.get()); !done)
      session.Report(done.error());
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
  flags->files.validates = true;
  flags->options.AddTo(create);
  create.Option("-l,--selector", &flags->files.label_selector, "Only objects of the files with these labels");
  create.Flag("--edit", &flags->edit, "Change the objects in an editor before they are created");
  create.Flag("--windows-line-endings", &flags->windows, "With --edit: lines end with CR LF in the editor");
  create.RecordFlag();
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
