#include "node/oci/container_user.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

constexpr std::size_t kMaxAccountFile = 1 << 20;

using Accounts = std::vector<std::vector<std::string>>;

// The lines of a file in the container, each cut at its colons.
Accounts ReadAccounts(const std::string& rootfs, const std::string& path) {
  const OwnedFd root(open(rootfs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const OwnedFd file = OpenInRoot(root.get(), path, O_RDONLY | O_NONBLOCK);
  std::string text(kMaxAccountFile, '\0');
  const ssize_t n = file ? read(file.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  Accounts accounts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::vector<std::string> fields(1);
    for (; begin < end; ++begin) text[begin] == ':' ? fields.emplace_back() : fields.back() += text[begin];
    accounts.push_back(std::move(fields));
    begin = end + 1;
  }
  return accounts;
}

std::optional<std::int64_t> NumberOf(const std::string& text) {
  if (text.empty() || text.size() > 10 || text.find_first_not_of("0123456789") != text.npos)
    return std::nullopt;
  return std::stoll(text);
}

bool Lists(const std::string& members, const std::string& name) {
  for (std::size_t begin = 0; begin <= members.size();) {
    const std::size_t end = std::min(members.find(',', begin), members.size());
    if (members.substr(begin, end - begin) == name) return true;
    begin = end + 1;
  }
  return false;
}

struct FoundUser {
  ContainerUser user;
  std::string name;  // of the account, if there is one
};

Result<FoundUser> FindUser(const std::string& who, const std::string& rootfs) {
  FoundUser found;
  const auto number = NumberOf(who);
  for (const auto& fields : ReadAccounts(rootfs, "etc/passwd")) {
    if (fields.size() < 4) continue;
    const auto uid = NumberOf(fields[2]), gid = NumberOf(fields[3]);
    if (!uid || !gid || (number ? *uid != *number : fields[0] != who)) continue;
    found.user.uid = *uid;
    found.user.gid = *gid;
    found.name = fields[0];
    return found;
  }
  if (!number)
    return Unexpected(BadRequest("unable to find user " + who + ": no matching entries in passwd file"));
  found.user.uid = *number;
  return found;
}

Result<std::int64_t> FindGroup(const std::string& group, const std::string& rootfs) {
  if (const auto number = NumberOf(group)) return *number;
  for (const auto& fields : ReadAccounts(rootfs, "etc/group"))
    if (fields.size() >= 3 && fields[0] == group)
      if (const auto gid = NumberOf(fields[2])) return *gid;
  return Unexpected(BadRequest("unable to find group " + group + ": no matching entries in group file"));
}

void AddGroup(ContainerUser& user, std::int64_t gid) {
  if (std::find(user.groups.begin(), user.groups.end(), gid) == user.groups.end()) user.groups.push_back(gid);
}

Status CheckNonRoot(const Pod& pod, const Container& container, const std::string& image_user,
                    std::int64_t uid, bool chosen) {
  const auto& own = container.security_context;
  const auto& of_pod = pod.spec.security_context;
  std::optional<bool> non_root = own ? own->run_as_non_root : std::nullopt;
  if (!non_root && of_pod) non_root = of_pod->run_as_non_root;
  if (!non_root.value_or(false)) return {};
  const std::string where = " (pod: \"" + pod.metadata.name + "_" + pod.metadata.namespace_ + "(" +
                            pod.metadata.uid + ")\", container: " + container.name + ")";
  if (chosen && uid == 0)
    return Unexpected(BadRequest("container's runAsUser breaks non-root policy" + where));
  if (chosen) return {};
  const std::string name = image_user.substr(0, image_user.find(':'));
  if (!name.empty() && !NumberOf(name))
    return Unexpected(BadRequest("container has runAsNonRoot and image has non-numeric user (" + name +
                                 "), cannot verify user is non-root" + where));
  if (uid == 0)
    return Unexpected(BadRequest("container has runAsNonRoot and image will run as root" + where));
  return {};
}

}  // namespace

Result<ContainerUser> ResolveUser(const Pod& pod, const Container& container, const std::string& image_user,
                                  const std::string& rootfs) {
  const auto& own = container.security_context;
  const auto& of_pod = pod.spec.security_context;
  std::optional<std::int64_t> uid = own ? own->run_as_user : std::nullopt;
  if (!uid && of_pod) uid = of_pod->run_as_user;
  std::optional<std::int64_t> gid = own ? own->run_as_group : std::nullopt;
  if (!gid && of_pod) gid = of_pod->run_as_group;
  const std::size_t colon = image_user.find(':');
  std::string who = uid ? std::to_string(*uid) : image_user.substr(0, colon);
  FLYBALL_ASSIGN(FoundUser found, FindUser(who.empty() ? "0" : who, rootfs));
  FLYBALL_TRY(CheckNonRoot(pod, container, image_user, found.user.uid, uid.has_value()));
  if (gid) {
    found.user.gid = *gid;
  } else if (!uid && colon != image_user.npos) {
    FLYBALL_ASSIGN(found.user.gid, FindGroup(image_user.substr(colon + 1), rootfs));
  }
  AddGroup(found.user, found.user.gid);
  for (const auto& fields : ReadAccounts(rootfs, "etc/group"))
    if (!found.name.empty() && fields.size() >= 4 && Lists(fields[3], found.name))
      if (const auto group = NumberOf(fields[2])) AddGroup(found.user, *group);
  if (of_pod) {
    for (const std::int64_t group : of_pod->supplemental_groups) AddGroup(found.user, group);
    if (of_pod->fs_group) AddGroup(found.user, *of_pod->fs_group);
  }
  return found.user;
}

}  // namespace flyball::node
