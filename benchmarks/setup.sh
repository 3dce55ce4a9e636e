#!/usr/bin/env bash
# Makes the Python environments of the peers: .venv (torch, jax, gpytorch) and, with --gpflux, .venv-gpflux.
# torch.compile also needs a C++ compiler. The newest versions are taken; every measurement records its own.
set -euo pipefail
cd "$(dirname "$0")"

environment() { # name, packages
  local name=$1; shift
  [ -x "$name/bin/python" ] || python3 -m venv "$name"
  "$name/bin/python" -m pip install --upgrade "$@"
}

case "${1-}" in
  ""|--gpflux) ;;
  *) echo "usage: $0 [--gpflux]" >&2; exit 2 ;;
esac

# The second index has torch without its gigabytes of CUDA libraries.
environment .venv --extra-index-url https://download.pytorch.org/whl/cpu torch jax gpytorch numpy scipy
if [ "${1-}" = --gpflux ]; then
  environment .venv-gpflux tensorflow-cpu gpflow tf_keras
  .venv-gpflux/bin/python -m pip install --upgrade --no-deps gpflux
fi
