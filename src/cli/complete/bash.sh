# Completion for bash 4.4 and later.
FUNCTION() {
    # So that COMP_POINT and the parts of COMP_LINE are bytes.
    local LC_ALL=C
    # The answer is already quoted. `-o filenames` and `-o default` must stay off: with them readline looks for directories by
    # expanding ${...} and $((...)) in names, and runs the commands in them.
    mapfile -t COMPREPLY < <(COMPLETE=bash PROGRAM -- "${COMP_LINE:0:COMP_POINT}" "$2" "${COMP_TYPE-}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/=] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F FUNCTION BIN
