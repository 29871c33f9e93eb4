
# Tables, snapshots and mount options, which only the store and the program know.
_cellfs_names() {
    _cellfs "$@"
    local cur=${COMP_WORDS[COMP_CWORD]} word words=() at
    if [[ ${COMP_WORDS[COMP_CWORD-1]} == -o && " ${COMP_WORDS[*]:1:COMP_CWORD} " == *" mount "* ]]; then
        local given=
        [[ $cur != *,* ]] || given=${cur%,*},
        mapfile -t COMPREPLY < <(compgen -P "$given" -W "ro allow_other noexec nonempty uid= gid= umask= fmask= dmask= \
families=auto names=raw at=plain history=inline durability=sync durability=fsync noxattr temporary= cache= threads= nodes= \
log= other_owner remount" -- "${cur##*,}")
        compopt -o nospace 2>/dev/null
        return
    fi
    [[ $cur != -* ]] || return
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        [[ $word == -* ]] || words+=("$word")
    done
    local store=
    case "${#words[@]}:${words[*]}" in
    2:alter\ * | 2:append\ * | 2:compact\ * | 2:count\ * | 2:delete\ * | 2:deleteall\ * | 2:describe\ * | 2:drop\ * | 2:flush\ * | \
        2:get\ * | 2:incr\ * | 2:purge\ * | 2:put\ * | 2:scan\ * | 2:truncate\ *) store=${words[1]} word=list ;;
    2:config\ *) store=${words[1]} word=config ;;
    3:snapshot\ delete\ * | 3:snapshot\ clone\ * | 3:snapshot\ restore\ *) store=${words[2]} word="snapshot list" ;;
    esac
    [[ -n $store && -d $store ]] || return
    # shellcheck disable=SC2086
    mapfile -t COMPREPLY < <(compgen -W "$("$1" $word "$store" 2>/dev/null | cut -f1 | cut -d" " -f1)" -- "$cur")
}
complete -F _cellfs_names -o bashdefault -o default cellfs
