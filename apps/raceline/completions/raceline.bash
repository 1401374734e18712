# SPDX-License-Identifier: Apache-2.0
# bash completion of raceline: the program itself says what may stand at the cursor.
_raceline() {
    local line=${COMP_LINE:0:COMP_POINT}
    local program=${COMP_WORDS[0]/#\~/$HOME}
    local word=${line##*[[:space:]]}
    local found=() one
    COMPREPLY=()
    while IFS= read -r one; do
        found+=("${one%%$'\t'*}")
    done < <("$program" __complete "$line" 2>/dev/null)
    # bash begins a new word behind = and :, and takes back only what stands behind them.
    local begun=${word%"${word##*[=:]}"}
    if [[ ${found[0]} == :files ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r one; do
            COMPREPLY+=("$one")
        done < <(compgen -f -- "${word#"$begun"}")
        return
    fi
    for one in "${found[@]}"; do
        COMPREPLY+=("${one#"$begun"}")
    done
    # More is to be written behind these.
    if [[ ${#found[@]} -eq 1 && ${found[0]} == *[=:,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _raceline raceline
