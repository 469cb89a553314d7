#!/bin/sh
# Installs npulse from this folder, without a network and without root.
#
#   ./install.sh [FOLDER]      its environment (default: ~/.local/npulse); the command is linked into ~/.local/bin
#
# PYTHON names the interpreter where python@VERSION@ and python3 are not the ones.
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
cpu=@CPU@ version=@VERSION@
folder=${1:-$HOME/.local/npulse}

fail() {
  printf 'install.sh: %s\n' "$@" >&2
  exit 1
}

[ "$(uname -s)" = Linux ] || fail "npulse needs Linux, this is $(uname -s)"
[ "$(uname -m)" = "$cpu" ] || fail "these wheels are for $cpu, this machine is $(uname -m)"

version_of() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}
python=
for one in ${PYTHON:-"python$version" python3}; do
  if [ "$(version_of "$one")" = "$version" ]; then
    python=$one
    break
  fi
done
[ -n "$python" ] || fail "these wheels are for Python $version; found: ${PYTHON:-python3} is $(version_of "${PYTHON:-python3}")" \
  "PYTHON=/path/to/python$version $0"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  fail "$python cannot make environments: install its venv module (python$version-venv)"
glibc=$("$python" -c 'import platform; print(platform.libc_ver()[1] or "unknown")')
"$python" -c 'import sys; sys.exit(tuple(map(int, sys.argv[1].split("."))) < (2, 28))' "$glibc" 2>/dev/null ||
  fail "these wheels need glibc 2.28 or newer, this machine has $glibc"

if [ -e "$folder" ] && [ ! -f "$folder/pyvenv.cfg" ]; then
  fail "$folder is there and is no environment of Python: name another folder"
fi
was_there=
[ ! -e "$folder" ] || was_there=yes
undo() {
  [ -n "$was_there" ] || rm -rf "$folder"
}
trap 'undo; exit 1' INT TERM HUP
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER PIP_CONSTRAINT PIP_REQUIREMENT
pip() {
  PIP_CONFIG_FILE=/dev/null "$folder/bin/python" -m pip install -q --disable-pip-version-check --no-index \
    --no-deps --find-links "$here/wheels" "$@"
}
if "$python" -m venv "$folder" && pip --require-hashes -r "$here/requirements.txt" &&
  pip --force-reinstall "$here"/wheels/npulse-*.whl && "$folder/bin/npulse" --version; then :; else
  undo
  fail "nothing was installed"
fi
trap - INT TERM HUP

command=$HOME/.local/bin/npulse
if [ -e "$command" ] && [ ! -L "$command" ]; then
  echo "$command is there already and is left as it is; start $folder/bin/npulse"
else
  mkdir -p "$HOME/.local/bin" && ln -sf "$folder/bin/npulse" "$command"
  case :$PATH: in
    *":$HOME/.local/bin:"*) echo "start: npulse demo" ;;
    *) echo "start: $command demo   (~/.local/bin is not on the PATH)" ;;
  esac
fi
