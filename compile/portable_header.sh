#!/bin/sh
# Covey, as one self-extracting file: this script, then a compressed archive.
# The first start unpacks it beside the user's other caches; later starts only
# look whether that folder is there.
set -eu
digest=@DIGEST@
skip=@HEADER_BYTES@
base=${COVEY_UNPACK_DIR:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/covey}
home=$base/$digest
if [ ! -e "$home/.complete" ]; then
  new=$base/.$digest.$$
  umask 077
  trap 'rm -rf "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  mkdir -p "$new" || {
    echo "covey: cannot make the folder \"$new\"; set COVEY_UNPACK_DIR to one that can be written" >&2
    exit 1
  }
  tail -c +"$((skip + 1))" "$0" | gzip -dc | tar -xf - -C "$new" || {
    echo "covey: cannot unpack into \"$new\": is the disk full, or this file cut short?" >&2
    exit 1
  }
  : >"$new/.complete"
  # Two first starts at once: one rename wins, the other uses what is there.
  mv "$new" "$home" 2>/dev/null || [ -e "$home/.complete" ] || {
    echo "covey: cannot rename \"$new\" to \"$home\"; set COVEY_UNPACK_DIR to a folder that can be written" >&2
    exit 1
  }
  rm -rf "$new"
  trap - EXIT HUP INT TERM
fi
export DENO_NO_UPDATE_CHECK=1 DENO_DIR="$home/.deno"
exec "$home/deno" run @FLAGS@ --config "$home/app/deno.json" "$home/app/main.js" "$@"
