# Completion for bash 4.4 and later.
FUNCTION() {
    # So that COMP_POINT and the parts of COMP_LINE are bytes.
    local LC_ALL=C
    mapfile -t COMPREPLY < <(COMPLETE=bash PROGRAM -- "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    # readline quotes what it inserts if it takes it for a file name.
    compopt -o filenames 2>/dev/null
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o default -o nosort -F FUNCTION BIN
