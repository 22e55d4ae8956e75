#include "node/plugins/registration_messages.h"

#include "base/values/protobuf_fields.h"

namespace flyball::node {

Result<PluginInfo> DecodePluginInfo(std::string_view bytes) {
  PluginInfo info;
  FLYBALL_TRY(ReadFields(bytes, "the plugin's answer", [&](WireReader& field) {
    return TakeText(field, 1, info.type) || TakeText(field, 2, info.name) ||
           TakeText(field, 3, info.endpoint) || TakeTexts(field, 4, info.versions);
  }));
  return info;
}

std::string RegistrationStatusMessage(std::string_view error) {
  std::string out;
  WireWriter writer(out);
  if (error.empty()) writer.Varint(1, 1);
  PutText(writer, 2, error);
  return out;
}

}  // namespace flyball::node
