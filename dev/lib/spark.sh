# Finds or installs Spark, builds the project and starts jobs. Source it with OAP_ROOT set to the
# checkout; the functions say what they need.

# The line of Spark that a script is about: 4.1, or what OAP_SPARK_LINE says.
readonly SPARK_LINE=${OAP_SPARK_LINE:-4.1}
case "$SPARK_LINE" in
  4.1)
    readonly SPARK_VERSION=4.1.1 MAVEN_TARGET=target
    readonly MAVEN_PROFILE=()
    ;;
  4.2)
    readonly SPARK_VERSION=4.2.0 MAVEN_TARGET=target/spark-4.2
    readonly MAVEN_PROFILE=(-Pspark-4.2)
    ;;
  *)
    echo "OAP_SPARK_LINE is 4.1 or 4.2, not '$SPARK_LINE'." >&2
    exit 2
    ;;
esac

# Sets and exports SPARK_HOME: the one that is set when its version fits, else Spark from PyPI,
# installed once into the checkout.
use_spark() {
  if [[ -n "${SPARK_HOME:-}" ]]; then
    if is_spark_of_line "$SPARK_HOME"; then
      export SPARK_HOME
      return
    fi
    echo "SPARK_HOME ($SPARK_HOME) is not Spark $SPARK_LINE; using Spark $SPARK_VERSION from PyPI" >&2
  fi
  local folder="$OAP_ROOT/.cache/spark-$SPARK_VERSION"
  mkdir -p "$OAP_ROOT/.cache"
  # One installs, others wait. The lock ends with the subshell, however that ends.
  (
    flock 9
    if [[ ! -e "$folder/complete" ]]; then
      install_spark "$folder"
    fi
  ) 9>"$OAP_ROOT/.cache/spark.lock" || return 1
  SPARK_HOME=$("$folder/bin/python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
  export SPARK_HOME
}

# Whether a folder holds a Spark distribution of our line.
is_spark_of_line() { compgen -G "$1/jars/spark-core_2.13-$SPARK_LINE.*.jar" >/dev/null; }

# install_spark <folder>: the file "complete" is written last, so half an install is never used.
install_spark() {
  echo "installing Spark $SPARK_VERSION from PyPI (some minutes, about 500 MB) ..." >&2
  rm -rf "$1"
  python3 -m venv "$1" &&
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check "pyspark==$SPARK_VERSION" >&2 &&
    touch "$1/complete"
}

# Builds the jars of all modules, unless no source is newer than the last build. Tests are compiled only
# with SKIP_TEST_CLASSES=false: they take longer than all the rest.
build_oap() {
  local stamp sources=("$OAP_ROOT"/pom.xml "$OAP_ROOT"/*/pom.xml "$OAP_ROOT"/*/src/main)
  stamp="$OAP_ROOT/.cache/built${MAVEN_PROFILE[*]}"
  if [[ -d "$OAP_ROOT/native" ]]; then
    sources+=("$OAP_ROOT/native")
  fi
  if [[ -e "$stamp" && -e "$(tpcds_jar)" && -e "$(oap_jar)" &&
    -z "$(find "${sources[@]}" -path "$OAP_ROOT/native/target" -prune -o \
      -type f -newer "$stamp" -print -quit)" ]]; then
    return
  fi
  echo "building ..." >&2
  mkdir -p "$OAP_ROOT/.cache"
  # The time before the build: what changes while it runs is built the next time.
  touch "$stamp.begun"
  (cd "$OAP_ROOT" &&
    mvn -q -B "${MAVEN_PROFILE[@]}" -DskipTests "-Dmaven.test.skip=${SKIP_TEST_CLASSES:-true}" package) &&
    mv "$stamp.begun" "$stamp"
}

# The jar that users add to their Spark.
oap_jar() { newest_jar "$OAP_ROOT/oap-spark/$MAVEN_TARGET/oap-spark-${SPARK_LINE}_2.13-"; }

# The jar of the TPC-DS jobs.
tpcds_jar() { newest_jar "$OAP_ROOT/tpcds/$MAVEN_TARGET/tpcds-"; }

newest_jar() {
  local jar newest=""
  for jar in "$1"*.jar; do
    if [[ ! "$jar" =~ -(sources|javadoc|tests)\.jar$ && "$jar" -nt "$newest" ]]; then
      newest="$jar"
    fi
  done
  echo "$newest"
}

# form_of <options>: the form of tables that options ask for; the last one counts.
form_of() {
  local form=parquet
  while (($# > 0)); do
    case "$1" in
      --form) form="$2" && shift ;;
      --form=*) form="${1#*=}" ;;
    esac
    shift
  done
  echo "$form"
}

# run_tpcds <command of Options.java> <main class> <options>: everything from wrong options to the
# job's exit status. Needs dev/lib/prerequisites.sh.
run_tpcds() {
  local command="$1" main="$2" submit jars
  shift 2
  local options=(java "$OAP_ROOT/tpcds/src/main/java/io/oap/tpcds/Options.java" "$command")
  require_prerequisites || return 1
  local argument
  for argument in "$@"; do
    if [[ "$argument" == --help ]]; then
      "${options[@]}" --help
      return
    fi
  done
  # The last one of an option counts, so this is only the default.
  set -- --data "$OAP_ROOT/.cache/tpcds" "$@"
  submit=$("${options[@]}" "$@") || return
  mapfile -t submit <<<"$submit"
  jars=$(python3 -B "$OAP_ROOT/dev/lib/forms.py" "$(form_of "$@")") || return
  use_spark || return 1
  build_oap || return 1
  # The JVM announces the incubating vector module, which Spark's launcher asks for.
  "$SPARK_HOME/bin/spark-submit" "${submit[@]}" --class "$main" --driver-memory 3g \
    --driver-java-options "-Dlog4j2.configurationFile=$OAP_ROOT/tpcds/src/main/conf/log4j2.properties" \
    --conf spark.ui.showConsoleProgress=false --jars "$(oap_jar)${jars:+,$jars}" "$(tpcds_jar)" "$@" \
    2> >(grep --line-buffered -v 'WARNING: Using incubator modules' >&2)
}
