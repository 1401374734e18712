# SPDX-License-Identifier: Apache-2.0
# fish completion of raceline: the program itself says what may stand at the cursor.
function __raceline_complete
    set -l program (commandline -opc)[1]
    set -l found ($program __complete (commandline -cp | string collect) 2>/dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $found
    end
end
complete -c raceline -f -a '(__raceline_complete)'
