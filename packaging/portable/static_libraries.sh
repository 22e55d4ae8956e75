#!/usr/bin/env bash
# static_libraries.sh FOLDER: puts every library that the program needs, except the C library, into FOLDER as a static one.
# Most come with Debian's -dev packages. Those that do not are built from Debian's sources, with its patches: apt checks
# their signatures. Nothing is done if FOLDER is complete.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
[ ! -e "$folder/complete" ] || exit 0
here=$(cd "$(dirname "$0")" && pwd)
work=$folder/source
mkdir -p "$work"

# From packages.
for name in nghttp2 ssl crypto sodium sqlite3 yaml-cpp re2 z lz4 zstd lzma bz2; do
  file=$(gcc -print-file-name="lib$name.a")
  [ "$file" != "lib$name.a" ] || { echo "there is no lib$name.a: ./dev package installs what is missing" >&2; exit 1; }
  ln -sf "$file" "$folder/"
done

# Where this machine gets its packages from, their sources come from, too.
sources() { # a list for apt
  sed -nE 's/^deb (\[[^]]*\] )?(\S+) (\S+) main.*/deb-src \1\2 \3 main/p' /etc/apt/sources.list 2>/dev/null || true
  cat /etc/apt/sources.list.d/debian.sources 2>/dev/null | sed 's/^Types:.*/Types: deb-src/' >"$work/debian.sources" || true
}
mkdir -p "$work/parts" "$work/lists/partial"
sources >"$work/sources.list"
cp "$work/debian.sources" "$work/parts/" 2>/dev/null || true
apt=(apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts="$work/parts"
  -o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd "$work" && "${apt[@]}" source --only-source simdjson prometheus-cpp mimalloc libarchive >/dev/null)

compile() { # source-glob cmake-arguments...: leaves its libraries below build/
  local source
  source=$(echo $work/$1)
  shift
  cmake -S "$source" -B "$source/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_C_FLAGS="-ffunction-sections -fdata-sections" -DCMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections" "$@" >"$source.log" 2>&1 &&
    cmake --build "$source/build" >>"$source.log" 2>&1 || { tail -30 "$source.log" >&2; return 1; }
  find "$source/build" -name '*.a' -exec cp {} "$folder/" \;
}

compile 'simdjson-*' -DSIMDJSON_DEVELOPER_MODE=OFF
compile 'prometheus-cpp-*' -DENABLE_PUSH=OFF -DENABLE_PULL=OFF -DENABLE_TESTING=OFF -DENABLE_COMPRESSION=OFF
compile 'mimalloc-*' -DMI_BUILD_SHARED=OFF -DMI_BUILD_OBJECT=OFF -DMI_BUILD_TESTS=OFF
compile 'libarchive-*' -DENABLE_TEST=OFF -DENABLE_TAR=OFF -DENABLE_CPIO=OFF -DENABLE_CAT=OFF -DENABLE_OPENSSL=OFF -DENABLE_NETTLE=OFF \
  -DENABLE_LIBXML2=OFF -DENABLE_EXPAT=OFF -DENABLE_LIBB2=OFF -DENABLE_LZ4=OFF -DENABLE_LZO=OFF -DENABLE_ACL=OFF -DENABLE_XATTR=OFF \
  -DENABLE_INSTALL=OFF -DENABLE_WERROR=OFF
cc -O2 -fPIC -Wall -Wextra -Werror -c "$here/old_libc.c" -o "$folder/old_libc.o"
touch "$folder/complete"
