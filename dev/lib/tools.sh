# The formatter and linter that come from PyPI, installed into the checkout. Source it from the root
# of the checkout, then call install_tools; it sets TOOLS to the folder with the commands.

# A finished installation keeps a copy of the list it was made from: another list makes it anew.
install_tools() {
  local venv="$PWD/.cache/tools"
  if ! cmp -s dev/lib/tools.txt "$venv/installed.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r dev/lib/tools.txt
    cp dev/lib/tools.txt "$venv/installed.txt"
  fi
  # Read by the scripts that source this file.
  # shellcheck disable=SC2034
  TOOLS="$venv/bin"
}

# Prints names, NUL between, of files of the given patterns that are or can come under version control.
sources() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
    if [[ -f "$file" ]]; then
      printf '%s\0' "$file"
    fi
  done
}
