#!/usr/bin/env bash
# Installs the version of Treehand that the action in ../../action.yml is, and tells the next step where it is.
#
# A version has a folder of its own, named after its files and its Python; what is there is not installed again, and what
# was not used for a month is removed. Every package must have its hash in requirements.lock, and pip gets none of the
# job's secrets.
set -euo pipefail

source=$GITHUB_ACTION_PATH
versions=$RUNNER_TOOL_CACHE/treehand

contents() {
  (cd "$source" && find bot docs deploy ./*.py ./*.toml ./*.lock ./*.md -type f -not -name '*.pyc' -print0 \
    | sort --zero-terminated | xargs --null sha256sum)
  "$PYTHON" -c 'import sys; print(sys.executable, sys.version)'
}

without_secrets() (
  for name in $(compgen -e); do
    case $name in
      PATH | HOME | LANG | TMPDIR | PIP_* | *_proxy | *_PROXY | SSL_CERT_FILE | REQUESTS_CA_BUNDLE) ;;
      *) unset "$name" ;;
    esac
  done
  exec "$@"
)

install_into() {
  rm -rf "$1"
  without_secrets "$PYTHON" -m venv "$1"
  without_secrets "$1/bin/pip" install --quiet --require-hashes --requirement "$source/requirements.lock"
  without_secrets "$1/bin/pip" install --quiet --no-deps --no-build-isolation "$source"
  touch "$1/complete"
}

mkdir -p "$versions"
exec 9> "$versions/lock"
flock 9 # several runners of a machine may share this folder
folder=$versions/$(contents | sha256sum | cut --characters=1-16)
[ -e "$folder/complete" ] || install_into "$folder"
touch "$folder"
find "$versions" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
echo "command=$folder/bin/treehand" >> "$GITHUB_OUTPUT"
