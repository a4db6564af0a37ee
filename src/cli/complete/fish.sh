# Completion for fish.
complete --keep-order --no-files --command BIN --arguments "(COMPLETE=fish PROGRAM -- (commandline --current-process --cut-at-cursor | string collect) 2>/dev/null)"
