
# Tables, snapshots and mount options, which only the store and the program know.
function __cellfs_plain_words
    string match -v -- '-*' (commandline -opc)[2..]
end
function __cellfs_names_of
    set -l words (__cellfs_plain_words)
    set -l tables alter append compact count delete deleteall describe drop flush get incr purge put scan truncate
    if test (count $words) = 2; and contains -- $words[1] $tables; and test -d $words[2]
        cellfs list $words[2] 2>/dev/null
    else if test (count $words) = 2; and test $words[1] = config; and test -d $words[2]
        cellfs config $words[2] 2>/dev/null | string replace -r ' .*' ''
    else if test (count $words) = 3; and test $words[1] = snapshot; and contains -- $words[2] delete clone restore; and test -d $words[3]
        cellfs snapshot list $words[3] 2>/dev/null | string replace -r '\t.*' ''
    end
end
complete -c cellfs -f -n 'test -n "$(__cellfs_names_of)"' -a '(__cellfs_names_of)'
complete -c cellfs -n '__fish_seen_subcommand_from mount' -s o -x -a 'ro allow_other noexec nonempty families=auto names=raw at=plain history=inline durability=sync durability=fsync noxattr other_owner remount'
