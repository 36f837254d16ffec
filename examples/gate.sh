#!/usr/bin/env bash
# Gate a PJRT plugin from PyPI on this machine, as examples/ci does in GitHub and GitLab.
#
#   examples/gate.sh accept    writes ci/expectations.toml and ci/baseline.txt: commit both
#   examples/gate.sh           exits with 1 when something is changed, new or lost against these
#
# Run it in an empty folder of your own. Variables change what is tested:
#
#   PACKAGE=xla-cpu-pjrt       the package that has the plugin
#   NAME=xlacpu                the name that reports have for it: keep it, entries are about it
#   CASES="--profile smoke"    which cases; "--profile smoke --op tanh" is quick
#   SHARDS=3                   parts, which could run on as many machines
#   SECONDS_EACH=10            for minimising each counterexample
#   HLO_CONFORMANCE=.          what pip installs: a folder, a wheel, git+https://...
set -euo pipefail

package=${PACKAGE:-xla-cpu-pjrt} shards=${SHARDS:-3}
backend="plugin:${NAME:-xlacpu}=$package"
read -ra cases <<<"${CASES:---profile smoke}"
source=${HLO_CONFORMANCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}

install() { # what is there already is used: an environment that is active, a plugin in it
  if ! command -v hlo-conformance >/dev/null; then
    test -d .venv || python3 -m venv .venv
    PATH="$PWD/.venv/bin:$PATH"
    .venv/bin/pip install --quiet "$source"
  fi
  hlo-conformance backends "$backend" >/dev/null || python3 -m pip install --quiet "$package"
  hlo-conformance backends "$backend"
}

test_in_parts() { # into results/1, 2, ...; what is new fails the whole, not a part
  local part expectations=none
  test -e ci/expectations.toml && expectations=ci/expectations.toml
  for part in $(seq "$shards"); do
    hlo-conformance run --backend "$backend" "${cases[@]}" --shard "$part/$shards" \
      --expectations "$expectations" --out "results/$part" "$@" || test $? -eq 1 -o $? -eq 4
  done
}

merged() { # the parts as one run in results/whole
  hlo-conformance report results/[0-9]* --out results/whole "$@"
}

case ${1:-} in
accept)
  install
  test_in_parts --fresh
  merged || test $? -eq 1
  hlo-conformance expectations update results/whole --out ci/expectations.toml \
    --seconds "${SECONDS_EACH:-10}"
  test_in_parts # nothing runs again: the results are stored, and judged by the new entries
  merged
  hlo-conformance baseline write results/whole --out ci/baseline.txt
  ;;
"")
  install
  test_in_parts --fresh --baseline ci/baseline.txt
  merged --baseline ci/baseline.txt
  ;;
*)
  sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
  ;;
esac
