// Manifests: the objects given with -f: files, folders or standard input; YAML or JSON, several documents,
// Lists; or with -k: what a kustomization describes.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/command/command.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

struct ManifestFlags {
  std::vector<std::string> files;  // "-" is standard input
  bool recursive = false;
  bool validates = false;        // the objects are sent as they are: what they lack is a validation error
  bool local = false;            // no server is asked: kinds and namespaces are left as the files say
  std::string kustomization;     // its folder
  std::string label_selector{};  // only objects of the files with these labels
  bool empty() const { return files.empty() && kustomization.empty(); }
  // How messages name where the objects are from. Requires: not empty.
  const std::string& first_source() const { return files.empty() ? kustomization : files[0]; }
};
void AddManifestFlags(const Command& command, ManifestFlags* flags);

struct Manifest {
  json::Value object;  // with its namespace filled in
  KindRef kind;
  std::string ns, name;
  std::string source;  // "STDIN" or the file, for messages
};

// The text of one file; "-" is standard input.
Result<std::string> ReadSource(const std::string& name);

// What could not be read while the rest goes on.
class ReadProblems {
 public:
  void Add(const Error& error) { texts_.push_back(error.message()); }
  // Says them all, as one; the command then fails. Nothing if there are none.
  void Report(Session& session) const;
  bool empty() const { return texts_.empty(); }

 private:
  std::vector<std::string> texts_;
};

// Returns all objects. With `problems`, files and objects that cannot be read are noted there and left out;
// without, the first is the error. Messages are kubectl's. A CustomResourceDefinition of v1beta1 is converted
// with a warning if the server does not serve that version.
Result<std::vector<Manifest>> ReadManifests(Session& session, const ManifestFlags& flags,
                                            ReadProblems* problems = nullptr);

// The server's fieldValidation for --validate.
Result<std::string> ValidationOf(const std::string& validate);

// Returns the objects that the files describe; without files, those that the arguments name. What cannot be
// read is reported to the session and left out.
Result<std::vector<ObjectRef>> NamedObjects(Session& session, const ManifestFlags& files,
                                            const std::vector<std::string>& args, const Selection& selection);

}  // namespace flyball::cli
