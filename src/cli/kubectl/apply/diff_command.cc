#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "base/files/temporary_folder.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/apply/prune.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct DiffFlags {
  ManifestFlags files;
  ApplyOptions options;
  bool show_managed_fields = false, show_secrets = false, prune = false;
  std::vector<std::string> prune_allowlist;
  int concurrency = 1;
};

// Masks the values of Secrets; shows only that they differ.
void MaskData(json::Value& live, json::Value& merged) {
  const auto mask = [](json::Value& object, const json::Value& other, const char* differs) {
    const json::Value* data = std::as_const(object).Find("data");
    if (!data || !data->is_object()) return;
    for (auto& [key, value] : object["data"].as_object()) {
      const json::Value& there = other["data"][key];
      value = there.is_null() || there == value ? "***" : differs;
    }
  };
  const json::Value before = live;
  mask(live, merged, "*** (before)");
  mask(merged, before, "*** (after)");
}

std::string FileName(const KindRef& kind, const std::string& ns, const std::string& object) {
  std::string name = kind.ApiVersion() + "." + kind.kind + "." + ns + "." + object;
  for (char& c : name)
    if (c == '/') c = '.';
  return name;
}
std::string FileName(const Manifest& manifest) {
  return FileName(manifest.kind, manifest.ns, manifest.name);
}

// Writes the live object and the object after apply, each into its folder.
Status WriteSide(const DiffFlags& flags, const std::string& file, const json::Value& object,
                 const TemporaryFolder& folder) {
  FLYBALL_ASSIGN(const auto printer,
                 NewObjectPrinter({.output = "yaml", .show_managed_fields = flags.show_managed_fields}));
  FLYBALL_ASSIGN(const std::string text, printer->Print(object));
  FLYBALL_TRY(folder.Write(file, text));
  return {};
}

// What was seen, for --prune.
struct Seen {
  std::set<std::string> uids, namespaces;
};

Status WriteBoth(Session& session, const DiffFlags& flags, const Manifest& manifest,
                 const TemporaryFolder& folder, Seen& seen) {
  if (manifest.kind.namespaced) seen.namespaces.insert(manifest.ns);
  auto live = session.Get(manifest.kind, manifest.ns, manifest.name);
  if (!live && !live.error().Is(Reason::kNotFound)) return Unexpected(live.error());
  if (live) seen.uids.emplace(std::as_const(*live)["metadata"]["uid"].string_or(""));
  FLYBALL_ASSIGN(Applied merged, ApplyManifest(session, flags.options, manifest));
  json::Value before = live ? std::move(*live) : json::Value();
  if (manifest.kind.kind == "Secret" && manifest.kind.group.empty() && !flags.show_secrets)
    MaskData(before, merged.object);
  if (!before.is_null()) FLYBALL_TRY(WriteSide(flags, "LIVE/" + FileName(manifest), before, folder));
  return WriteSide(flags, "MERGED/" + FileName(manifest), merged.object, folder);
}

// What --prune would delete is on one side only.
Status WritePruned(Session& session, const DiffFlags& flags, const TemporaryFolder& folder,
                   const Seen& seen) {
  FLYBALL_ASSIGN(
      const auto prunable,
      FindPrunable(session, {flags.prune_allowlist, flags.files.label_selector}, seen.namespaces, seen.uids));
  for (const auto& [kind, object] : prunable) {
    const json::Value& metadata = object["metadata"];
    FLYBALL_TRY(WriteSide(flags,
                          "LIVE/" + FileName(kind, std::string(metadata["namespace"].string_or("")),
                                             std::string(metadata["name"].string_or(""))),
                          object, folder));
  }
  return {};
}

// $KUBECTL_EXTERNAL_DIFF, of whose words only plain options count, as in kubectl.
std::string DiffProgram() {
  const std::string named = FromEnvironment({"KUBECTL_EXTERNAL_DIFF"}, "");
  if (named.empty()) return "diff -u -N";
  const auto plain = [](const std::string& word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '-' || c == '=';
    });
  };
  const auto words = SplitText(named, ' ');
  std::string line = "'" + words[0] + "'";
  for (std::size_t i = 1; i < words.size(); ++i)
    if (plain(words[i])) line += " " + words[i];
  return line;
}

Status RunDiff(Session& session, DiffFlags& flags, int* exit_code) {
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  if (flags.options.force_conflicts && !flags.options.server_side)
    return Unexpected(LocalError("--force-conflicts only works with --server-side"));
  if (flags.prune) FLYBALL_TRY(CheckAllowlist(session, {flags.prune_allowlist}));
  flags.options.dry_run = "server";
  flags.options.remember = false;
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files));
  FLYBALL_ASSIGN(const TemporaryFolder folder, TemporaryFolder::Make());
  for (const char* side : {"LIVE", "MERGED"}) std::filesystem::create_directories(folder.path() / side);
  Seen seen;
  for (const Manifest& manifest : manifests) FLYBALL_TRY(WriteBoth(session, flags, manifest, folder, seen));
  if (flags.prune) FLYBALL_TRY(WritePruned(session, flags, folder, seen));
  *exit_code =
      RunExternal(DiffProgram(), {(folder.path() / "LIVE").string(), (folder.path() / "MERGED").string()});
  if (*exit_code <= 1) return {};
  return Unexpected(LocalError("failed to run \"" +
                               SplitText(FromEnvironment({"KUBECTL_EXTERNAL_DIFF"}, "diff"), ' ')[0] +
                               "\": exit status " + std::to_string(*exit_code)));
}

}  // namespace

void AddDiffCommand(const Command& root) {
  auto flags = std::make_shared<DiffFlags>();
  const Command command =
      root.Sub("diff", "Show what apply would change; exit status 1 if anything",
               "flyball diff -f web.yaml\n  KUBECTL_EXTERNAL_DIFF='diff -y' flyball diff -f web.yaml");
  AddManifestFlags(command, &flags->files);
  command.Option("-l,--selector", &flags->files.label_selector,
                 "Only objects of the files with these labels");
  command.Option("--field-manager", &flags->options.field_manager, "Who is said to own the fields");
  command.Flag("--server-side", &flags->options.server_side, "As apply --server-side would");
  command.Flag("--force-conflicts", &flags->options.force_conflicts,
               "With --server-side: take over fields of others");
  command.Flag("--prune", &flags->prune, "Show, too, what apply --prune would delete");
  command.Option("--prune-allowlist", &flags->prune_allowlist,
                 "With --prune: group/version/kind; may be repeated");
  command.Flag("--show-secrets", &flags->show_secrets, "Do not mask the values of Secrets");
  command.Option("--concurrency", &flags->concurrency, "Accepted; objects are compared one after the other");
  command.Flag("--show-managed-fields", &flags->show_managed_fields, "Compare managedFields too");
  RunVerb(command, [flags](Session& session) -> Status {
    // 1 means that something differs, more than 1 that it could not be found out.
    int exit_code = 0;
    if (const Status done = RunDiff(session, *flags, &exit_code); !done) {
      session.err() << ErrorText(done.error()) << "\n";
      exit_code = 2;
    }
    session.set_exit_code(exit_code);
    return {};
  });
}

}  // namespace flyball::cli
