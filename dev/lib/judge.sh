# Installs another reader of Parquet, as a judge of rows. Source it with OAP_ROOT set to the checkout.

readonly PYARROW="pyarrow==17.0.0"

# Sets and exports OAP_JUDGE_PYTHON: a Python with pyarrow from PyPI, installed once into the checkout.
# A finished installation has the file "complete".
use_judge() {
  local folder="$OAP_ROOT/.cache/judge-${PYARROW#*==}"
  if [[ ! -e "$folder/complete" ]]; then
    echo "installing pyarrow from PyPI ..." >&2
    rm -rf "${folder:?}"
    python3 -m venv "$folder" &&
      "$folder/bin/pip" install --quiet --disable-pip-version-check "$PYARROW" >&2 &&
      touch "$folder/complete" || return 1
  fi
  export OAP_JUDGE_PYTHON="$folder/bin/python"
}
