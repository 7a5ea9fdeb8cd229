#!/usr/bin/env bash
# Finds a libgcc that rounds to bf16, which CubeCL's CPU runtime calls on processors without AVX512-BF16.
#
#   usage: libgcc.sh     prints what to preload: nothing where the machine can do without
#
# libgcc has it since GCC 13; for older systems it is taken from Debian's package libgcc-s1, once. Exit 3
# where no suite offers one.
set -euo pipefail

function=__truncsfbf2
grep -qw avx512_bf16 /proc/cpuinfo && exit 0
system=$(ldconfig -p 2> /dev/null | awk '/libgcc_s\.so\.1 .*x86-64/{print $NF; exit}')
[ "$(uname -m)" = x86_64 ] && [ -n "$system" ] || exit 0
grep -q "$function" "$system" && exit 0

kept=${XDG_CACHE_HOME:-$HOME/.cache}/libgcc/libgcc_s.so.1
if [ ! -e "$kept" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    chmod 755 "$work"
    stanza=$(grep -lsE '^Suites:.*(bookworm|trixie)( |$)' /etc/apt/sources.list.d/*.sources | head -n 1 || true)
    [ -n "$stanza" ] || { echo 'libgcc: no Debian mirror is set up here' >&2; exit 3; }
    mirror=$(awk '/^URIs:/{print $2; exit}' "$stanza")
    keyring=$(awk '/^Signed-By:/{print $2; exit}' "$stanza")
    mkdir -p "$work/lists/partial"
    printf 'deb [signed-by=%s] %s trixie main\n' "$keyring" "$mirror" > "$work/sources.list"
    apt=(apt-get -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
         -o "Dir::State::Lists=$work/lists" -o APT::Get::List-Cleanup=1)
    (cd "$work" && "${apt[@]}" update && "${apt[@]}" download libgcc-s1) > "$work/log" 2>&1 || {
        echo "libgcc: $(tail -n 1 "$work/log")" >&2
        exit 3
    }
    dpkg-deb -x "$work"/libgcc-s1_*.deb "$work/unpacked"
    found=$(find "$work/unpacked" -name libgcc_s.so.1 | head -n 1)
    grep -q "$function" "$found" || { echo "libgcc: none of trixie's has $function" >&2; exit 3; }
    mkdir -p "${kept%/*}"
    cp "$found" "$kept"
fi
echo "$kept"
