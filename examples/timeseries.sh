#!/bin/bash
# Log data and time series: which field leads the key, one row a point, one row an hour, one cell an hour.
. "$(dirname "$0")/lib.sh"

HOSTS=20
MINUTES=240
START=1416286800000

points() {
    awk -v hosts=$HOSTS -v minutes=$MINUTES -v start=$START -v what="$1" 'BEGIN {
        for (m = 0; m < minutes; m++)
            for (h = 0; h < hosts; h++) {
                time = start + m * 60000
                if (what == "fields") printf "\"host=host%02d,event=cpu,time=%.0f\",%.0f,%d\n", h, time, time, (m * 7 + h) % 100
                else printf "host%02d %d %d\n", h, m, (m * 7 + h) % 100
            }
    }'
}
load_points() {
    table "$1" d
    recipe "$1" "$2"
    { echo "HBASE_ROW_KEY,HBASE_TS_KEY,d:v"; points fields; } | load --key "$1"
}
load_points time_first "time(time) host '+' event"
load_points bucketed "salt(8) time(time) host '+' event"
load_points host_first "host '+' event '+' desc(time)"

hour() { echo $((START + $1 * 3600000)); }
key() { "$CELLFS" key encode "$1" "$2"; }

title "The last ten points of host07"
ask "time leads: a filter, backwards" \
    scan time_first --reversed --limit 10 --filter "RowFilter(=,'substring:host07')"
answers 10
time_first=$READ
ask "host leads, newest first: the first ten rows" scan host_first --prefix host07+cpu+ --limit 10
answers 10
argue "what is asked for leads the key" "$READ" "$time_first"

title "All hosts in the third hour"
in_time() { scan time_first --start "$(key 'time(time)' "time=$(hour 2)")" --stop "$(key 'time(time)' "time=$(hour 3)")"; }
in_buckets() {
    for bucket in 0 1 2 3 4 5 6 7; do
        from=$(key 'u8(b) time(time)' "b=$bucket,time=$(hour 2)")
        to=$(key 'u8(b) time(time)' "b=$bucket,time=$(hour 3)")
        scan bucketed --start "$from" --stop "$to"
    done
}
in_hosts() { scan host_first --filter "RowFilter(=,'regexstring:^host')" --timerange "0,9999999999999"; }
ask "time leads: one scan" in_time
answers $((60 * HOSTS))
one=$READ
ask "time behind a salt of 8: eight scans" in_buckets
answers $((60 * HOSTS))
ask "host leads: the whole table" in_hosts
argue "time at the front is what such a question wants" "$one" "$READ"
{ "$CELLFS" key advise "$STORE" time_first || true; } >"$DIR/advice"
grep -q "^rising keys" "$DIR/advice"
sed -n '1s/^/  key advise, of the first one: /p' "$DIR/advice"

title "Rows as columns, as OpenTSDB has them: a row an hour, a column a minute"
table wide d
recipe wide "host '+' event '+' time(hour)"
points raw | awk -v start=$START '
    { hour = sprintf("%.0f", start + int($2 / 60) * 3600000); row[$1 "," hour "," $2 % 60] = $3; hosts[$1] = 1; hours[hour] = 1 }
    END {
        printf "HBASE_ROW_KEY"; for (m = 0; m < 60; m++) printf ",d:%02d", m; print ""
        for (h in hosts) for (t in hours) {
            printf "\"host=%s,event=cpu,hour=%s\"", h, t
            for (m = 0; m < 60; m++) printf ",%s", row[h "," t "," m]
            print ""
        }
    }' | load --key wide
table packed d
recipe packed "host '+' event '+' time(hour)"
points raw | awk -v start=$START '
    { hour = sprintf("%.0f", start + int($2 / 60) * 3600000); all[$1 "," hour] = all[$1 "," hour] (all[$1 "," hour] ? ";" : "") $2 % 60 "=" $3 }
    END {
        print "HBASE_ROW_KEY,d:points"
        for (k in all) { split(k, of, ","); printf "\"host=%s,event=cpu,hour=%s\",%s\n", of[1], of[2], all[k] }
    }' | load --key packed

title "One hour of host07"
tall_hour() {
    from=$(key "host '+' event '+' desc(time)" "host=host07,event=cpu,time=$(($(hour 3) - 1))")
    to=$(key "host '+' event '+' desc(time)" "host=host07,event=cpu,time=$(($(hour 2) - 1))")
    scan host_first --start "$from" --stop "$to"
}
ask "tall: 60 rows of a cell" tall_hour
answers 60
tall=$READ
ask "wide: a row of 60 cells" get --key wide "host=host07,event=cpu,hour=$(hour 2)"
answers 60
wide=$READ
ask "packed: a row of one cell, written again once the hour is over" get --key packed "host=host07,event=cpu,hour=$(hour 2)"
answers 1
argue "a packed hour is one cell" "$READ" "$wide"
stored host_first
tall=$STORED
stored wide
wide=$STORED
stored packed
argue "each cell has its coordinates: fewer cells, fewer of them" "$STORED" "$wide"
argue "a row of 60 cells has 60 times the key, as 60 rows have; one cell has it once" "$STORED" "$tall"
