
# Tables, snapshots and mount options, which only the store and the program know.
_cellfs_names() {
    local cur=${words[CURRENT]} word store= asked= given=
    local -a plain found
    if [[ ${words[CURRENT-1]} == -o && " ${words[*]} " == *" mount "* ]]; then
        [[ $cur != *,* ]] || given=${cur%,*},
        compadd -S '' -p "$given" -- ro allow_other noexec nonempty uid= gid= umask= fmask= dmask= families=auto \
            names=raw at=plain history=inline durability=sync durability=fsync noxattr temporary= cache= threads= nodes= \
            value_limit= log= other_owner remount
        return
    fi
    for word in "${(@)words[2,CURRENT-1]}"; do
        [[ $word == -* ]] || plain+=("$word")
    done
    case "${#plain}:${plain[1]} ${plain[2]}" in
    2:(alter|append|compact|count|delete|deleteall|describe|drop|flush|get|incr|purge|put|scan|truncate)\ *)
        store=${plain[2]} asked=list ;;
    2:config\ *) store=${plain[2]} asked=config ;;
    3:snapshot\ (delete|clone|restore)) store=${plain[3]} asked="snapshot list" ;;
    esac
    if [[ $cur != -* && -n $store && -d $store ]]; then
        found=(${(f)"$(${words[1]} ${=asked} $store 2>/dev/null | cut -f1 | cut -d" " -f1)"})
        compadd -- "${found[@]}"
        return
    fi
    _cellfs_grammar "$@"
}
functions -c _cellfs _cellfs_grammar
_cellfs() { _cellfs_names "$@" }
