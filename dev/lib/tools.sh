# The formatter and linter that come from PyPI, installed into the checkout. Source it from the root
# of the checkout and call install_tools; then the commands are in the folder TOOLS.

readonly TOOLS="$PWD/.cache/tools/bin"

# A finished installation keeps a copy of the list it was made from: another list makes it anew.
install_tools() {
  local venv
  venv=$(dirname "$TOOLS")
  if ! cmp -s dev/lib/tools.txt "$venv/installed.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$TOOLS/pip" install --quiet --disable-pip-version-check --no-deps -r dev/lib/tools.txt
    cp dev/lib/tools.txt "$venv/installed.txt"
  fi
}

# Prints names, NUL between, of files of the given patterns that are or can come under version control.
sources() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
    if [[ -f "$file" ]]; then
      printf '%s\0' "$file"
    fi
  done
}
