#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes in parts of peers that were packed elsewhere by bench/peer_wheels.py, one or several a call,
# and installs them once all have come. Needs no network.
#
#   tools/device_peers.sh FOLDER [SET]
#
# FOLDER holds one part or more and their list (peers.json). SET names what is collected (default
# fa4), under build-peers/SET; everything is installed into build-peers/site, which
# tools/device_compare.sh finds.
set -eu
cd "$(dirname "$0")/.."
from=${1:?"usage: tools/device_peers.sh FOLDER [SET]"}
set_name=${2:-fa4}
store=build-peers/$set_name
site=build-peers/site
python=${PYTHON:-python3}
mkdir -p "$store"
cp "$from"/peers.* "$store/"
if ! "$python" bench/peer_wheels.py missing "$store"; then
    echo "the parts above have not come yet"
    exit 0
fi
"$python" bench/peer_wheels.py install "$store" --site "$site"
rm -f "$store"/peers.tar.xz.*
case $set_name in
    fa4) module=flash_attn.cute ;;
    *) module=$set_name ;;
esac
"$python" -c "import site, sys; site.addsitedir(sys.argv[1]); import importlib
importlib.import_module(sys.argv[2]); print(sys.argv[2], 'imports')" "$site" "$module"
