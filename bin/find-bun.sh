# Sourced, not run. Sets `bun` to the Bun that npm installed for this platform below $1; starts no process.
# It never looks into the current directory or PATH: an untrusted project must not choose our runtime.
find_bun() {
  bun=
  libc=glibc
  [ -e /lib/ld-musl-x86_64.so.1 ] || [ -e /lib/ld-musl-aarch64.so.1 ] && libc=musl
  for candidate in "$1"/node_modules/@oven/bun-*/bin/bun "$1"/../@oven/bun-*/bin/bun; do
    [ -x "$candidate" ] || continue
    case "$libc:$candidate" in
      glibc:*-musl/*) continue ;;
    esac
    bun=$candidate
  done
  if [ -z "$bun" ]; then
    echo "skein: its runtime is missing: run 'npm ci' in $1, without omitting optional dependencies" >&2
    return 3
  fi
}
