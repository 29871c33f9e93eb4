#!/bin/bash
# Lists of users: a row a value, pages of values, a column a value.
. "$(dirname "$0")/lib.sh"

USERS=200
BIG=5000

# Most users have forty values, user 7 has five thousand: user and number of a value, ascending.
values() {
    awk -v users=$USERS -v big=$BIG 'BEGIN {
        for (u = 0; u < users; u++) { n = u == 7 ? big : 40; for (v = 0; v < n; v++) print u, v }
    }'
}
table tall f
recipe tall "text(user, 8) digits(value, 8)"
values | awk 'BEGIN { print "HBASE_ROW_KEY,f:e" } { printf "\"user=u%05d,value=%d\",1\n", $1, $2 * 10 }' | load --key tall
table paged f
recipe paged "text(user, 8) u32(page)"
values | awk '
    { page = $1 " " int($2 / 30); if (page != last) { if (last != "") print text; last = page; split(page, of, " ")
        text = sprintf("\"user=u%05d,page=%d\",", of[1], of[2]) } else text = text " "
      text = text sprintf("%08d", $2 * 10) }
    BEGIN { print "HBASE_ROW_KEY,f:values" } END { print text }' | load --key paged
table wide f
values | awk '{ printf "{\"row\":\"u%05d\",\"f:%08d\":\"1\"}\n", $1, $2 * 10 }' |
    "$CELLFS" import "$STORE" wide - --format jsonl >/dev/null
"$CELLFS" flush "$STORE" wide

for user in u00042 u00007; do
    title "The first thirty values of $user"
    ask "tall: thirty rows" scan tall --by-key=user=$user --limit 30
    answers 30
    tall=$READ
    ask "paged: one row" get --key paged user=$user,page=0
    answers 1
    ask "wide: the first columns of a row, however long it is" ls -U "$MNT/default/wide/$user/f/.first/30"
    answers 30
done
argue "thirty rows of many cost less than three cells a row" "$tall" $((3 * 30))

title "A value in the middle of the long list"
BEFORE=$(cells_read)
"$CELLFS" put --key "$STORE" tall user=u00007,value=15 f:e 1
"$CELLFS" put "$STORE" wide u00007 f:00000015 1
# Each page gives its last value to the next one.
carry=00000015
page=0
pages=0
while [ -n "$carry" ]; do
    old=$("$CELLFS" get --value --key "$STORE" paged user=u00007,page=$page f:values || true)
    new=$(printf '%s %s' "$old" "$carry" | tr ' ' '\n' | grep . | sort | tr '\n' ' ')
    keep=$(echo "$new" | cut -d ' ' -f 1-30 | sed 's/ *$//')
    carry=$(echo "$new" | cut -d ' ' -f 31)
    "$CELLFS" put --key "$STORE" paged user=u00007,page=$page f:values "$keep"
    page=$((page + 1))
    pages=$((pages + 1))
    [ $page -lt 6 ] || break
done
printf '  %-58s %8d cells written\n' "tall and wide: one cell each" 1
printf '  %-58s %8d cells written, and so on to page %d\n' "paged by hand: each page behind it moves, the first $pages" $pages $((BIG / 30))
argue "a list that is one value a row takes a value where it belongs" 1 "$pages"
ask "tall: the third value is the new one" scan tall --by-key=user=u00007 --limit 3
answers 3
grep -q 'value=15' "$DIR/answer"

title "What is stored"
stored tall
tall=$STORED
stored wide
stored paged
argue "pages save the coordinates of their values, which is all that they save" "$STORED" "$tall"
