#include "cli/kubectl/describe/describe_volumes.h"

#include "cli/kubectl/describe/describe_text.h"

namespace flyball::cli {
namespace {

std::string Line(const char* title, const std::string& text) {
  return std::string("    ") + title + ":\t" + text + "\n";
}
std::string Truth(const json::Value& value) {
  return value.bool_or(false) ? "true" : "false";
}

std::string ProjectedLines(const json::Value& projected) {
  std::string out = Line("Type", "Projected (a volume that contains injected data from multiple sources)");
  if (!projected["sources"].is_array()) return out;
  for (const json::Value& source : projected["sources"].as_array()) {
    if (source["secret"].is_object())
      out += Line("SecretName", TextOr(source["secret"]["name"], "")) +
             Line("SecretOptionalName", TextOr(source["secret"]["optional"], "<nil>"));
    else if (source["downwardAPI"].is_object())
      out += Line("DownwardAPI", "true");
    else if (source["configMap"].is_object())
      out += Line("ConfigMapName", TextOr(source["configMap"]["name"], "")) +
             Line("ConfigMapOptional", TextOr(source["configMap"]["optional"], "<nil>"));
    else if (source["serviceAccountToken"].is_object())
      out += Line("TokenExpirationSeconds", TextOr(source["serviceAccountToken"]["expirationSeconds"], "0"));
  }
  return out;
}

std::string SourceLines(const json::Value& volume) {
  if (const json::Value& path = volume["hostPath"]; path.is_object())
    return Line("Type", "HostPath (bare host directory volume)") + Line("Path", TextOr(path["path"], "")) +
           Line("HostPathType", TextOr(path["type"], ""));
  if (const json::Value& dir = volume["emptyDir"]; dir.is_object())
    return Line("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)") +
           Line("Medium", TextOr(dir["medium"], "")) + Line("SizeLimit", TextOr(dir["sizeLimit"], "<unset>"));
  if (const json::Value& secret = volume["secret"]; secret.is_object())
    return Line("Type", "Secret (a volume populated by a Secret)") +
           Line("SecretName", TextOr(secret["secretName"], "")) + Line("Optional", Truth(secret["optional"]));
  if (const json::Value& map = volume["configMap"]; map.is_object())
    return Line("Type", "ConfigMap (a volume populated by a ConfigMap)") +
           Line("Name", TextOr(map["name"], "")) + Line("Optional", Truth(map["optional"]));
  if (const json::Value& claim = volume["persistentVolumeClaim"]; claim.is_object())
    return Line("Type",
                "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)") +
           Line("ClaimName", TextOr(claim["claimName"], "")) + Line("ReadOnly", Truth(claim["readOnly"]));
  if (volume["projected"].is_object()) return ProjectedLines(volume["projected"]);
  return Line("Type", "<unknown>");
}

}  // namespace

std::string VolumeLines(const json::Value& volumes, const std::string& space) {
  if (volumes.empty()) return space.empty() ? "Volumes:\t<none>\n" : space + "Volumes:\t<none>\n";
  std::string out = space + "Volumes:\n";
  for (const json::Value& volume : volumes.as_array())
    out += "  " + std::string(space.empty() ? "" : " ") + TextOr(volume["name"], "") + ":\n" +
           SourceLines(volume);
  return out;
}

}  // namespace flyball::cli
