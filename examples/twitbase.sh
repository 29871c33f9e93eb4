#!/bin/bash
# TwitBase: users follow users. The relation as wide rows, as tall ones, from both ends; and a stream that is read as it was
# written, for each follower.
. "$(dirname "$0")/lib.sh"

USERS=300
FOLLOWS=20

follows() {
    # follower and followed; user 7 is popular.
    awk -v users=$USERS -v follows=$FOLLOWS 'BEGIN {
        for (u = 0; u < users; u++) {
            print u, 7
            for (n = 1; n < follows; n++) print u, (u * 31 + n * 17) % users
        }
    }' | sort -u -k1,1n -k2,2n
}
follows >"$DIR/follows"

table wide follows
awk '{ printf "{\"row\":\"user%04d\",\"follows:user%04d\":\"1\"}\n", $1, $2 }' "$DIR/follows" |
    "$CELLFS" import "$STORE" wide - --format jsonl >/dev/null
"$CELLFS" flush "$STORE" wide

table tall f
recipe tall "follower '+' followed"
awk 'BEGIN { print "HBASE_ROW_KEY,f:n" } { printf "\"follower=user%04d,followed=user%04d\",1\n", $1, $2 }' "$DIR/follows" |
    load --key tall

table followers f
recipe followers "followed '+' follower"
awk 'BEGIN { print "HBASE_ROW_KEY,f:n" } { printf "\"followed=user%04d,follower=user%04d\",1\n", $2, $1 }' "$DIR/follows" |
    load --key followers

title "Whom does user0042 follow?"
ask "wide: one row" get wide user0042
wide=$READ
ask "tall: rows with a prefix" scan tall --by-key=follower=user0042
argue "both read about as many cells as the answer has: a row, or its neighbours" "$READ" "$((4 * wide + 40))"

title "Does user0042 follow user0007?"
ask "wide: one column" get wide user0042 follows:user0007
answers 1
ask "tall: one row" get --key tall follower=user0042,followed=user0007
answers 1

title "Who follows user0007?"
ask "wide: every row is looked at" scan wide --filter "QualifierFilter(=,'binary:user0007')"
answers $USERS
whole=$READ
ask "the relation from its other end" scan followers --by-key=followed=user0007
answers $USERS
argue "what is asked from both ends is stored from both ends" "$READ" "$whole"

# Each user has written twenty twits.
table twits f
recipe twits "user desc(time)"
table stream f
recipe stream "reader desc(time) author"
awk -v users=$USERS 'BEGIN {
    print "HBASE_ROW_KEY,f:t"
    for (n = 0; n < 20; n++)
        for (u = 0; u < users; u++) printf "\"user=user%04d,time=%.0f\",twit %d of %d\n", u, 1416287000000 + n * 60000 + u, n, u
}' | load --key twits
awk '{ follows[$1] = follows[$1] " " $2 } END {
    print "HBASE_ROW_KEY,f:t"
    for (u in follows) {
        m = split(follows[u], of, " ")
        for (i = 1; i <= m; i++)
            for (n = 10; n < 20; n++)
                printf "\"reader=user%04d,time=%.0f,author=user%04d\",twit %d of %d\n", u, 1416287000000 + n * 60000 + of[i], of[i], n, of[i]
    }
}' "$DIR/follows" | load --key stream

normalised() {
    get wide user0042 | cut -f 2 | sed 's/.*://' | while read -r followed; do
        scan twits --by-key="user=$followed" --limit 10
    done
}
title "The last ten twits that user0042 wants to read"
ask "normalised: whom they follow, then the last ten of each" normalised
normalised=$READ
ask "denormalised: the first ten rows of their stream" scan stream --by-key=reader=user0042 --limit 10
answers 10
argue "a stream that was written for its reader is read in one scan" "$READ" "$normalised"
stored twits
once=$STORED
stored stream
argue "and each twit is stored once for each follower" "$once" "$STORED"
