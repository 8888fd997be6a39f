#!/bin/sh
# Calls what `recount connect` has written. Without it, or where it fails, Claude Code notices nothing.
hook="${RECOUNT_DATA_DIR:-$HOME/.recount}/collector/hook"
if [ -x "$hook" ]; then "$hook" > /dev/null 2>&1; else cat > /dev/null; fi
exit 0
