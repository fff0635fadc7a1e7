# Pythons with packages that Debian need not have. Source it with OAP_ROOT set to the checkout.

# Sets and exports PLOTS_PYTHON: a Python that draws the plots of reports.
use_plots() { use_package PLOTS_PYTHON plots matplotlib==3.9.4; }

# Sets and exports OAP_JUDGE_PYTHON: a Python with another reader of Parquet, as a judge of rows.
use_judge() { use_package OAP_JUDGE_PYTHON judge pyarrow==17.0.0; }

# use_package <variable> <folder> <package==version>: sets and exports the variable to a Python that has it,
# installed once into the checkout. A finished installation has the file "complete".
use_package() {
  local folder="$OAP_ROOT/.cache/$2-${3#*==}"
  mkdir -p "$OAP_ROOT/.cache"
  # One installs, others wait. The lock ends with the subshell, however that ends.
  (
    flock 9
    if [[ ! -e "$folder/complete" ]]; then
      echo "installing ${3%%==*} from PyPI ..." >&2
      rm -rf "${folder:?}"
      python3 -m venv "$folder" &&
        "$folder/bin/pip" install --quiet --disable-pip-version-check "$3" >&2 &&
        touch "$folder/complete"
    fi
  ) 9>"$folder.lock" || return 1
  export "$1=$folder/bin/python"
}
