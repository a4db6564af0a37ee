#compdef BIN
# Completion for zsh.
FUNCTION() {
    local -a found values folders settings shown
    local line
    # (Q) takes the quotes off.
    found=("${(@f)$(COMPLETE=zsh PROGRAM -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for line in $found; do
        if [[ ${line%%$'\t'*} == */ ]]; then
            folders+=("${${line%%$'\t'*}%/}")
        elif [[ ${line%%$'\t'*} == *= ]]; then
            settings+=("${line%%$'\t'*}")
        else
            values+=("${line%%$'\t'*}")
            shown+=("${line/$'\t'/  -- }")
        fi
    done
    (( $#folders )) && compadd -S / -q -- "${folders[@]}"
    (( $#settings )) && compadd -S '' -- "${settings[@]}"
    (( $#values )) && compadd -l -V values -d shown -- "${values[@]}"
    (( $#folders + $#settings + $#values ))
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    FUNCTION "$@"
else
    compdef FUNCTION BIN
fi
