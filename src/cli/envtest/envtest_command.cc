#include "cli/envtest/envtest_command.h"

#include <filesystem>
#include <iostream>

#include "base/values/result.h"

namespace flyball::cli {
namespace {

// The names by which the program acts as another one (flyball_main.cc).
constexpr const char* kAssets[] = {"kube-apiserver", "etcd", "kubectl"};

Error AssetFailure(const std::filesystem::path& path, const std::error_code& error) {
  return InternalError("cannot write " + path.string() + ": " + error.message());
}

// Replaces links only: a real kube-apiserver is somebody's.
Status LinkAsset(const std::filesystem::path& path, const std::filesystem::path& program) {
  std::error_code error;
  const auto found = std::filesystem::symlink_status(path, error);
  if (std::filesystem::exists(found) && !std::filesystem::is_symlink(found))
    return Unexpected(Error(Reason::kAlreadyExists, path.string() +
                                                        " exists and is not a link: move it away, or choose "
                                                        "another folder"));
  if (std::filesystem::exists(found) && !std::filesystem::remove(path, error))
    return Unexpected(AssetFailure(path, error));
  std::filesystem::create_symlink(program, path, error);
  if (error) return Unexpected(AssetFailure(path, error));
  return {};
}

Status WriteAssets(const std::filesystem::path& folder) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Unexpected(InternalError("cannot find this program's file: " + error.message()));
  std::filesystem::create_directories(folder, error);
  if (error) return Unexpected(AssetFailure(folder, error));
  for (const char* name : kAssets) FLYBALL_TRY(LinkAsset(folder / name, program));
  return {};
}

}  // namespace

void AddEnvtestCommand(const Command& root) {
  const Command command = root.Sub(
      "envtest", "Write kube-apiserver, etcd and kubectl into a folder, for controller-runtime's envtest",
      "flyball envtest bin/assets && KUBEBUILDER_ASSETS=$PWD/bin/assets go test ./...");
  auto folders = std::make_shared<std::vector<std::string>>();
  command.Args("DIR", folders.get(), "The folder; made if it is not there").Required("DIR");
  command.RunLocal([folders] {
    if (folders->size() != 1) {
      std::cerr << "error: one folder, please\n";
      return 1;
    }
    const auto folder = std::filesystem::absolute(folders->front());
    if (const Status written = WriteAssets(folder); !written) {
      std::cerr << "error: " << written.error().message() << "\n";
      return 1;
    }
    std::cout << "export KUBEBUILDER_ASSETS=" << folder.string() << "\n";
    return 0;
  });
}

}  // namespace flyball::cli
