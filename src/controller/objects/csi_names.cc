#include "controller/objects/csi_names.h"

#include "net/tls/pki.h"

namespace flyball {

std::string CsiAttachmentName(const std::string& driver, const std::string& handle, const std::string& node) {
  return "csi-" + net::HexEncode(net::Sha256(handle + driver + node));
}

std::string CsiUniqueVolumeName(const std::string& driver, const std::string& handle) {
  return "kubernetes.io/csi/" + driver + "^" + handle;
}

}  // namespace flyball
