# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_cellfs_global_optspecs
    string join \n json other-owner h/help V/version
end

function __fish_cellfs_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_cellfs_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_cellfs_using_subcommand
    set -l cmd (__fish_cellfs_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c cellfs -n "__fish_cellfs_needs_command" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_needs_command" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_needs_command" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_needs_command" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "mount" -d 'Mount a store (made if it is absent or empty)'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "umount" -d 'Unmount, and wait until the daemon has ended'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "status" -d 'Show what a store holds and does'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "create" -d 'Create a table with its families'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "list" -d 'List tables'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "describe" -d 'Show a table\'s attributes and families'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "alter" -d 'Change a table\'s attributes and families'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "create-index" -d 'Make a secondary index of a table, and wait until it is complete'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "drop-index" -d 'Drop a secondary index'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "create-check" -d 'Add a constraint to a family: what its values and rows have to be'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "key" -d 'Make row keys of fields, read them, and look at those of a table'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "drop-check" -d 'Drop a constraint of a family'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "truncate" -d 'Drop all cells of a table; what they were is kept for a while, as a dropped table of that name'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "drop" -d 'Drop a table with its cells; undrop brings it back for a while'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "undrop" -d 'Bring back a table, or a family of one, that was dropped'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "undelete" -d 'Bring back what was deleted or dropped, as it was'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "why" -d 'Show the last refusals of a mount, with what to do'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "watch" -d 'Follow changes as they are committed'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "purge" -d 'Take deleted cells and their tombstones now, however long they are to be kept'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "config" -d 'Show or change the settings of a store'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "put" -d 'Put a cell'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "get" -d 'Get a row, or some columns of it'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "delete" -d 'Delete the versions of a column, or one version'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "deleteall" -d 'Delete a row, or a column of it'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "incr" -d 'Add to a counter and print it'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "append" -d 'Append to a value'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "scan" -d 'Print the rows of a table'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "export" -d 'Write a table, or a part of it, to a file'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "import" -d 'Read a file into a table'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "copy" -d 'Copy tables, or rows of one, between stores and clusters, and compare them'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "count" -d 'Count the rows of a table, or those that an index has'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "snapshot" -d 'Keep the present state under a name, read it, bring tables of it back'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "flush" -d 'Write what is in memory to segments'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "compact" -d 'Compact a table'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "stats" -d 'Show what a store and its daemon have counted: cells, bytes, requests with their latencies'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "top" -d 'Show what a mount does, live: requests, latencies, the paths that take the most time, memory, compactions'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "profile" -d 'Follow a mount for some time, and show which requests, paths and processes took it'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "log" -d 'Show the history of a cell: every version and tombstone that is stored, newest first'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "mv" -d 'Move a cell, a family of a row, a row or a table, with its history'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "bench" -d 'Measure this machine, in about a minute: puts, gets, scans, and a mount beside plain files'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "demo" -d 'Mount a store with some example tables'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "check" -d 'Look for damage in a store'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "shell" -d 'Speak the HBase shell\'s language with a store'
complete -c cellfs -n "__fish_cellfs_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cellfs -n "__fish_cellfs_using_subcommand mount" -s o -d 'Options, comma-separated: ro, allow_other, default_permissions, noexec, nonempty, uid=USER, gid=GROUP, umask=OCTAL, fmask=OCTAL, dmask=OCTAL, families=auto, names=raw, at=plain, history=inline, durability=sync|fsync, noxattr, temporary=GLOB[:GLOB...], cache=SECONDS (or attr=), threads=N, idle=auto|poll|halt, nodes=N (otherwise by the memory that there is), log=FILE, other_owner, remount; see mount.cellfs(8)' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand mount" -s f -l foreground -d 'Stay in the foreground'
complete -c cellfs -n "__fish_cellfs_using_subcommand mount" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand mount" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand mount" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand mount" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand umount" -l lazy -d 'Take the name away at once; programs that use the mount go on until they end'
complete -c cellfs -n "__fish_cellfs_using_subcommand umount" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand umount" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand umount" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand umount" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand status" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand status" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand status" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand create" -l make -d 'Make the store if it is absent'
complete -c cellfs -n "__fish_cellfs_using_subcommand create" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand create" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand create" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand create" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand list" -l dropped -d 'What was dropped or truncated and can be brought back'
complete -c cellfs -n "__fish_cellfs_using_subcommand list" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand list" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand list" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand list" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand describe" -l columns -d 'Show each column instead: how many puts of it are stored (versions that no compaction has dropped yet among them), bytes of their values, and bounds of their timestamps, exact until a version was dropped. A family with more than 10,000 qualifiers is walked over once for each 10,000'
complete -c cellfs -n "__fish_cellfs_using_subcommand describe" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand describe" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand describe" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand describe" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -l set -d 'Set an attribute or a setting of the table, for example READONLY=true' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -l unset -d 'Unset an attribute or a setting of the table' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -l delete -d 'Drop a family with its cells; undrop brings it back for a while' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand alter" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -l columns -d 'FAMILY:QUALIFIER, more with commas: rows are found by the first one, the others narrow that. \\xNN stands for a byte, \\x2C for a comma' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -l include -d 'What answers show beside these columns, each FAMILY or FAMILY:QUALIFIER; everything if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -l where -d 'Only rows that pass this filter, in HBase\'s filter language' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -l unique -d 'No two rows may have the same values'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-index" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-index" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-index" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-index" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-index" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l columns -d 'Qualifiers of the family whose values are judged, with commas; all of them if it is left out. \\xNN stands for a byte, \\x2C for a comma' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l type -d 'What each value is: utf8, i64 (a decimal), u64 (an 8-byte counter), json, or regex:PATTERN for all of the value' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l length -d 'Bytes of each value: MIN..MAX, MIN.., ..MAX, or one number' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l required -d 'FAMILY:QUALIFIER, more with commas: who puts a cell of the family leaves a row that has these columns' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l references -d 'Each value is the key of a row of this table when it is put' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand create-check" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -f -a "encode" -d 'Print the key that a recipe makes of fields'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -f -a "decode" -d 'Print the fields of a key'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -f -a "advise" -d 'Look at the keys of a table, and tell what will be slow'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and not __fish_seen_subcommand_from encode decode advise help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from encode" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from encode" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from encode" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from encode" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from decode" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from decode" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from decode" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from decode" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from advise" -l sample -d 'Rows that are looked at' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from advise" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from advise" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from advise" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from advise" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "encode" -d 'Print the key that a recipe makes of fields'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "decode" -d 'Print the fields of a key'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "advise" -d 'Look at the keys of a table, and tell what will be slow'
complete -c cellfs -n "__fish_cellfs_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-check" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-check" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-check" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop-check" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand truncate" -l now -d 'At once and for good, also what was dropped under that name before; asked for on a terminal'
complete -c cellfs -n "__fish_cellfs_using_subcommand truncate" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand truncate" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand truncate" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand truncate" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop" -l now -d 'At once and for good, also what was dropped under that name before; asked for on a terminal'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand drop" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand undrop" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand undrop" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand undrop" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand undrop" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand undelete" -l at -d 'As it was at that time: milliseconds since 1970, ISO 8601, an age such as -1h, or yesterday' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand undelete" -l list -d 'Only show what would come back'
complete -c cellfs -n "__fish_cellfs_using_subcommand undelete" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand undelete" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand undelete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand undelete" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand why" -s n -l count -d 'At most so many, the last ones' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand why" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand why" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand why" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand why" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -l prefix -d 'Only rows that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -l since -d 'Begin behind this number (and part), 0 for all that the log has; or at a time: ISO 8601, an age such as -1h, or yesterday' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -l once -d 'End when all that is there was told'
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand watch" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand purge" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand purge" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand purge" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand purge" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand config" -l unset -d 'Make it what it is by default'
complete -c cellfs -n "__fish_cellfs_using_subcommand config" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand config" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand config" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand config" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l ttl -d 'Time to live of the cell, milliseconds, 1 at least' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l if-value -d 'Only if the column holds this value now' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l if-column -d 'FAMILY:QUALIFIER of the row that the condition is about; the column that is changed if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l key -d 'ROW is given by the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l if-absent -d 'Only if the column has no value'
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand put" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l versions -d 'Versions a column' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l timestamp -d 'Only this timestamp' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l timerange -d 'Only timestamps from FROM (inclusive) to TO (exclusive)' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l filter -d 'A filter in HBase\'s filter language; \\xNN in it stands for a byte' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l row -d 'Another row; may be given again' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l key -d 'ROW is given by the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l value -d 'Print the newest value alone, byte for byte'
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand get" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -l if-value -d 'Only if the column holds this value now' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -l if-column -d 'FAMILY:QUALIFIER of the row that the condition is about; the column that is changed if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -l key -d 'ROW is given by the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -l if-absent -d 'Only if the column has no value'
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand delete" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -l if-value -d 'Only if the column holds this value now' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -l if-column -d 'FAMILY:QUALIFIER of the row that the condition is about; the column that is changed if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -l key -d 'ROW is given by the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -l if-absent -d 'Only if the column has no value'
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand deleteall" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l ttl -d 'Time to live of the cell, milliseconds, 1 at least' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l if-value -d 'Only if the column holds this value now' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l if-column -d 'FAMILY:QUALIFIER of the row that the condition is about; the column that is changed if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l key -d 'ROW is given by the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l if-absent -d 'Only if the column has no value'
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand incr" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l ttl -d 'Time to live of the cell, milliseconds, 1 at least' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l if-value -d 'Only if the column holds this value now' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l if-column -d 'FAMILY:QUALIFIER of the row that the condition is about; the column that is changed if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l key -d 'ROW is given by the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l if-absent -d 'Only if the column has no value'
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand append" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l start -d 'First row' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l stop -d 'Row to stop before' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l prefix -d 'Only rows that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l limit -d 'At most so many rows' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l by-key -d 'In the order of the fields of the table\'s recipe of keys, whatever salt stands before them, and keys shown as fields; only rows that have these first FIELDS: NAME=VALUE,NAME=VALUE..., and from the first fields on that --start gives, up to those of --stop' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l by -d 'Only rows that have VALUE in the column of a secondary index; of one of several columns VALUE,VALUE... from the first one on. \\xNN stands for a byte, \\x2C for a comma' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l value-from -d 'Of --by INDEX: only values from this one on' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l value-to -d 'Of --by INDEX: only values before this one' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l value-prefix -d 'Of --by INDEX: only values that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l versions -d 'Versions a column' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l timestamp -d 'Only this timestamp' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l timerange -d 'Only timestamps from FROM (inclusive) to TO (exclusive)' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l filter -d 'A filter in HBase\'s filter language; \\xNN in it stands for a byte' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l reversed -d 'From the last row to the first'
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l raw -d 'Show tombstones and what they hide'
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand scan" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l start -d 'First row' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l stop -d 'Row to stop before' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l prefix -d 'Only rows that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l limit -d 'At most so many rows' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l by -d 'Only rows that have VALUE in the column of a secondary index; of one of several columns VALUE,VALUE... from the first one on. \\xNN stands for a byte, \\x2C for a comma' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l value-from -d 'Of --by INDEX: only values from this one on' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l value-to -d 'Of --by INDEX: only values before this one' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l value-prefix -d 'Of --by INDEX: only values that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l versions -d 'Versions a column' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l timestamp -d 'Only this timestamp' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l timerange -d 'Only timestamps from FROM (inclusive) to TO (exclusive)' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l filter -d 'A filter in HBase\'s filter language; \\xNN in it stands for a byte' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l format -d 'What is written; by the name of FILE if it is left out, else jsonl' -r -f -a "jsonl\t''
json\t''
csv\t''
tsv\t''
parquet\t''"
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l schema -d 'Of parquet: a file of lines `FAMILY:QUALIFIER TYPE`, TYPE is utf8, binary, json, i64 or u64 (counters); of the columns that it names these alone, with `HBASE_TS_KEY i64` the newest timestamp of each row. Without it checks, then the first rows, say which columns are text' -r -F
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -s o -l output -d 'Write to FILE, which is replaced once all of it is written, and is this user\'s alone where it is new; standard output if it is left out' -r -F
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l by-key -d 'In the order of the fields of the table\'s recipe of keys, whatever salt stands before them, and keys shown as fields; only rows that have these first FIELDS: NAME=VALUE,NAME=VALUE..., and from the first fields on that --start gives, up to those of --stop' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l reversed -d 'From the last row to the first'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l raw -d 'Show tombstones and what they hide'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l key -d 'Rows stand in the file as the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l history -d 'Every version that is stored, also deleted ones that are kept, and tombstones, as jsonl'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand export" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l format -d 'What FILE is; by its name if it is left out, standard input is jsonl then. jsonl also reads what scan --json prints' -r -f -a "jsonl\t''
json\t''
csv\t''
tsv\t''
parquet\t''"
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l schema -d 'Of parquet: a file of lines `FAMILY:QUALIFIER TYPE`; a number of a column that is u64 becomes a counter\'s eight bytes, else a decimal' -r -F
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l columns -d 'What the fields of csv, tsv and parquet are, as HBase\'s ImportTsv has it: HBASE_ROW_KEY, FAMILY:QUALIFIER, HBASE_TS_KEY, HBASE_CELL_TTL; \\xNN stands for a byte. The first line says it if this is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l timestamp -d 'Of what says no timestamp; now, but later than all that is in the table, if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l on-error -d 'What becomes of a line that cannot be taken: stop, skip, or a file that it is appended to' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l keep-empty -d 'An empty field of csv and tsv is an empty value; otherwise the row has no such cell'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l key -d 'Rows stand in the file as the fields of the table\'s recipe of keys: NAME=VALUE,NAME=VALUE...; see cellfs-key(1)'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l resume -d 'Go on where an import of FILE into this table has stopped, or was killed'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand import" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l table -d 'TABLE, NAMESPACE:TABLE or NAMESPACE/TABLE, as often as there are such; all tables if it is left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l as -d 'Its name at the target' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l start -d 'First row; \\xNN stands for a byte' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l stop -d 'The row before which it ends' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l state -d 'Keep in FILE how far it has come: the same command goes on from there. It goes when all is done' -r -F
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l verify -d 'Copy nothing, compare only'
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l make -d 'Make the store that is copied to if there is none'
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand copy" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l prefix -d 'Only rows that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l by -d 'Only rows that have VALUE in the column of a secondary index; of one of several columns VALUE,VALUE... from the first one on. \\xNN stands for a byte, \\x2C for a comma' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l value-from -d 'Of --by INDEX: only values from this one on' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l value-to -d 'Of --by INDEX: only values before this one' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l value-prefix -d 'Of --by INDEX: only values that start with this' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand count" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -f -a "create" -d 'Make a snapshot; read it below .snapshot/NAME of a mount'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -f -a "list" -d 'List snapshots'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -f -a "delete" -d 'Delete a snapshot'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -f -a "clone" -d 'Make a new table of one that a snapshot has'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -f -a "restore" -d 'Bring tables back as they were, all in one step; what they hold now goes for good'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and not __fish_seen_subcommand_from create list delete clone restore help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l table -d 'Only this table: TABLE or NAMESPACE:TABLE' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from create" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from create" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from list" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from delete" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from delete" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from delete" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from clone" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from clone" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from clone" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from clone" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from restore" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from restore" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from restore" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "create" -d 'Make a snapshot; read it below .snapshot/NAME of a mount'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "list" -d 'List snapshots'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Delete a snapshot'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "clone" -d 'Make a new table of one that a snapshot has'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "restore" -d 'Bring tables back as they were, all in one step; what they hold now goes for good'
complete -c cellfs -n "__fish_cellfs_using_subcommand snapshot; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cellfs -n "__fish_cellfs_using_subcommand flush" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand flush" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand flush" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand flush" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand compact" -l major -d 'Drop deleted cells and their tombstones too'
complete -c cellfs -n "__fish_cellfs_using_subcommand compact" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand compact" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand compact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand compact" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -l watch -d 'Again and again, every SECONDS; 2 if they are left out' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -s n -l count -d 'So often, with --watch' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -l prometheus -d 'Print Prometheus\' text format'
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand stats" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand top" -s i -l interval -d 'Seconds from one look to the next' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand top" -s n -l count -d 'End after so many looks' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand top" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand top" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand top" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand top" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand profile" -s s -l seconds -d 'How long; Ctrl-C ends it before' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand profile" -s n -l count -d 'So many paths and processes: those that took the most time' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand profile" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand profile" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand profile" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand profile" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand log" -s n -l limit -d 'At most so many stored versions and tombstones a column, newest first' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand log" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand log" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand log" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand log" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand mv" -l resume -d 'Go on with a move that was interrupted: what is at the target stays and gets the rest'
complete -c cellfs -n "__fish_cellfs_using_subcommand mv" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand mv" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand mv" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand mv" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand bench" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand bench" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand bench" -s h -l help -d 'Print help'
complete -c cellfs -n "__fish_cellfs_using_subcommand bench" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand demo" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand demo" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand demo" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand check" -l repair -d 'Mend what has a second copy, and acknowledge what is lost. The store must not be mounted; no segment is changed'
complete -c cellfs -n "__fish_cellfs_using_subcommand check" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand check" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand check" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -s e -l execute -d 'Run this statement and end; may be given again' -r
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -s n -l noninteractive -d 'End with status 1 at the first error'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -s q -l quiet -d 'Print only what commands find: no greeting, no echo of a script, no times'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -l make -d 'Make the store if it is absent'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -l json -d 'Print JSON, one object a line'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -l other-owner -d 'As root, use a store that belongs to another user; what is made in it belongs to that user too'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c cellfs -n "__fish_cellfs_using_subcommand shell" -s V -l version -d 'Print version'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "mount" -d 'Mount a store (made if it is absent or empty)'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "umount" -d 'Unmount, and wait until the daemon has ended'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "status" -d 'Show what a store holds and does'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "create" -d 'Create a table with its families'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "list" -d 'List tables'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "describe" -d 'Show a table\'s attributes and families'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "alter" -d 'Change a table\'s attributes and families'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "create-index" -d 'Make a secondary index of a table, and wait until it is complete'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "drop-index" -d 'Drop a secondary index'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "create-check" -d 'Add a constraint to a family: what its values and rows have to be'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "key" -d 'Make row keys of fields, read them, and look at those of a table'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "drop-check" -d 'Drop a constraint of a family'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "truncate" -d 'Drop all cells of a table; what they were is kept for a while, as a dropped table of that name'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "drop" -d 'Drop a table with its cells; undrop brings it back for a while'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "undrop" -d 'Bring back a table, or a family of one, that was dropped'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "undelete" -d 'Bring back what was deleted or dropped, as it was'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "why" -d 'Show the last refusals of a mount, with what to do'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "watch" -d 'Follow changes as they are committed'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "purge" -d 'Take deleted cells and their tombstones now, however long they are to be kept'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "config" -d 'Show or change the settings of a store'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "put" -d 'Put a cell'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "get" -d 'Get a row, or some columns of it'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "delete" -d 'Delete the versions of a column, or one version'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "deleteall" -d 'Delete a row, or a column of it'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "incr" -d 'Add to a counter and print it'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "append" -d 'Append to a value'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "scan" -d 'Print the rows of a table'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "export" -d 'Write a table, or a part of it, to a file'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "import" -d 'Read a file into a table'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "copy" -d 'Copy tables, or rows of one, between stores and clusters, and compare them'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "count" -d 'Count the rows of a table, or those that an index has'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "snapshot" -d 'Keep the present state under a name, read it, bring tables of it back'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "flush" -d 'Write what is in memory to segments'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "compact" -d 'Compact a table'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "stats" -d 'Show what a store and its daemon have counted: cells, bytes, requests with their latencies'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "top" -d 'Show what a mount does, live: requests, latencies, the paths that take the most time, memory, compactions'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "profile" -d 'Follow a mount for some time, and show which requests, paths and processes took it'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "log" -d 'Show the history of a cell: every version and tombstone that is stored, newest first'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "mv" -d 'Move a cell, a family of a row, a row or a table, with its history'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "bench" -d 'Measure this machine, in about a minute: puts, gets, scans, and a mount beside plain files'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "demo" -d 'Mount a store with some example tables'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "check" -d 'Look for damage in a store'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "shell" -d 'Speak the HBase shell\'s language with a store'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and not __fish_seen_subcommand_from mount umount status create list describe alter create-index drop-index create-check key drop-check truncate drop undrop undelete why watch purge config put get delete deleteall incr append scan export import copy count snapshot flush compact stats top profile log mv bench demo check shell help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "encode" -d 'Print the key that a recipe makes of fields'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "decode" -d 'Print the fields of a key'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "advise" -d 'Look at the keys of a table, and tell what will be slow'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "create" -d 'Make a snapshot; read it below .snapshot/NAME of a mount'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "list" -d 'List snapshots'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "delete" -d 'Delete a snapshot'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "clone" -d 'Make a new table of one that a snapshot has'
complete -c cellfs -n "__fish_cellfs_using_subcommand help; and __fish_seen_subcommand_from snapshot" -f -a "restore" -d 'Bring tables back as they were, all in one step; what they hold now goes for good'
