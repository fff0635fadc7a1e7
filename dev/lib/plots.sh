# Installs what draws the plots of reports. Source it with OAP_ROOT set to the checkout.

readonly MATPLOTLIB="matplotlib==3.9.4"

# Sets and exports PLOTS_PYTHON: a Python with matplotlib from PyPI, installed once into the checkout. A finished
# installation has the file "complete".
use_plots() {
  local folder="$OAP_ROOT/.cache/plots-${MATPLOTLIB#*==}"
  if [[ ! -e "$folder/complete" ]]; then
    echo "installing matplotlib from PyPI ..." >&2
    rm -rf "${folder:?}"
    python3 -m venv "$folder" &&
      "$folder/bin/pip" install --quiet --disable-pip-version-check "$MATPLOTLIB" >&2 &&
      touch "$folder/complete" || return 1
  fi
  export PLOTS_PYTHON="$folder/bin/python"
}
