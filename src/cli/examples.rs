//! An example or two of every command, and the pages beside it: for the man pages. Each line is tried by a test.

use super::beside::{Beside, beside};

/// Of every page of section 1.
pub const BESIDE: &[Beside] = &[
    beside(
        "cellfs",
        &[
            ("Mount a store and use it with the tools that there are:", "cellfs mount /srv/store /mnt/cells"),
            ("The same without a mount:", "cellfs get /srv/store webtable com.cnn.www"),
        ],
        &[
            "cellfs-mount(1)",
            "cellfs-shell(1)",
            "cellfs-backup(8)",
            "mount.cellfs(8)",
            "cellfs-store(5)",
            "cellfs-tree(7)",
        ],
    ),
    beside(
        "cellfs-alter",
        &[
            ("Keep five versions in f1, and make a family f2:", "cellfs alter /srv/store t f1,VERSIONS=5 f2"),
            ("Refuse writes:", "cellfs alter /srv/store t --set READONLY=true"),
        ],
        &["cellfs-create(1)", "cellfs-describe(1)", "cellfs-undrop(1)"],
    ),
    beside(
        "cellfs-append",
        &[("Add a line to a value, whoever else does so now:", r"cellfs append /srv/store t r f:log 'started\x0A'")],
        &["cellfs-put(1)", "cellfs-incr(1)"],
    ),
    beside("cellfs-bench", &[("Measure the disk under /srv:", "cellfs bench /srv")], &["cellfs-stats(1)"]),
    beside(
        "cellfs-check",
        &[
            ("Look for damage:", "cellfs check /srv/store"),
            ("Mend what has a second copy, and say what is lost:", "cellfs check --repair /srv/store"),
        ],
        &["cellfs-status(1)", "cellfs-store(5)"],
    ),
    beside(
        "cellfs-compact",
        &[("Drop what is deleted and superseded now:", "cellfs compact --major /srv/store t")],
        &["cellfs-flush(1)", "cellfs-purge(1)"],
    ),
    beside(
        "cellfs-config",
        &[
            ("All settings:", "cellfs config /srv/store"),
            ("Values of a gigabyte and no more:", "cellfs config /srv/store value_limit 1G"),
            ("Three versions in families that are made from now on:", "cellfs config /srv/store default.VERSIONS 3"),
            ("As many as there are by default:", "cellfs config --unset /srv/store default.VERSIONS"),
        ],
        &["cellfs-create(1)", "cellfs-alter(1)", "mount.cellfs(8)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-count",
        &[
            ("How many rows there are:", "cellfs count /srv/store shop/orders"),
            ("How many of them an index has:", "cellfs count /srv/store users --by city=Bonn"),
        ],
        &["cellfs-scan(1)", "cellfs-create-index(1)"],
    ),
    beside(
        "cellfs-create",
        &[(
            "A table of two families, and the store if it is absent:",
            "cellfs create --make /srv/store t f1,VERSIONS=3,TTL=86400 f2",
        )],
        &["cellfs-alter(1)", "cellfs-describe(1)", "cellfs-drop(1)"],
    ),
    beside(
        "cellfs-create-check",
        &[
            ("Ages are whole numbers:", "cellfs create-check /srv/store users f age --columns age --type i64"),
            (
                "Names are short, and no user is without a name and an address:",
                "cellfs create-check /srv/store users f names --columns name --length 1..80 --required f:name,f:mail",
            ),
            (
                "Orders are of customers that there are:",
                "cellfs create-check /srv/store shop:orders f customer --columns customer --references shop:customers",
            ),
            (
                "Addresses look like addresses:",
                "cellfs create-check /srv/store users f mail --columns mail --type 'regex:[^@ ]+@[^@ ]+'",
            ),
        ],
        &["cellfs-drop-check(1)", "cellfs-create-index(1)", "cellfs-describe(1)", "cellfs-why(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-create-index",
        &[
            ("Find users by their city:", "cellfs create-index /srv/store users city --columns f:city"),
            ("No two of them with one address:", "cellfs create-index /srv/store users mail --columns f:mail --unique"),
            (
                "Those that are active, by city, then by age; answers show names:",
                r#"cellfs create-index /srv/store users near --columns f:city,f:age --include f:name --where "SingleColumnValueFilter('f','active',=,'binary:1',true,true)""#,
            ),
        ],
        &["cellfs-drop-index(1)", "cellfs-scan(1)", "cellfs-describe(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-delete",
        &[
            ("A column:", "cellfs delete /srv/store t r f:q"),
            (
                "One version of it, only while another column says so:",
                "cellfs delete /srv/store t r f:q 1416300000123 --if-column f:lock --if-value mine",
            ),
        ],
        &["cellfs-deleteall(1)", "cellfs-undelete(1)"],
    ),
    beside(
        "cellfs-deleteall",
        &[
            ("A row:", "cellfs deleteall /srv/store t r"),
            ("What of a family is not newer than a time:", "cellfs deleteall /srv/store t r f 1416300000123"),
        ],
        &["cellfs-delete(1)", "cellfs-undelete(1)"],
    ),
    beside("cellfs-demo", &[("In the directory demo:", "cellfs demo demo")], &["cellfs-tree(7)", "cellfs-umount(1)"]),
    beside(
        "cellfs-describe",
        &[
            ("Attributes of a table, as JSON:", "cellfs --json describe /srv/store t"),
            ("What is stored in each column:", "cellfs describe --columns /srv/store t"),
        ],
        &["cellfs-alter(1)", "cellfs-list(1)"],
    ),
    beside(
        "cellfs-copy",
        &[
            ("All tables of a cluster into a store here:", "cellfs copy --make hbase://zk1,zk2:2181/hbase /srv/store"),
            (
                "A table back into a cluster; what is stopped goes on with the same line:",
                "cellfs copy --table web --state web.copy /srv/store hbase://zk1:2181/hbase",
            ),
            (
                "Some of its rows, under another name:",
                "cellfs copy --table web --as web_uk --start uk. --stop uk/ /srv/store /srv/other",
            ),
            ("Whether both are the same still:", "cellfs copy --verify --table web /srv/store hbase://zk1:2181/hbase"),
        ],
        &["cellfs-export(1)", "cellfs-snapshot(1)", "cellfs-backup(8)"],
    ),
    beside(
        "cellfs-drop",
        &[("Into the trash:", "cellfs drop /srv/store t"), ("For good:", "cellfs drop --now /srv/store t")],
        &["cellfs-undrop(1)", "cellfs-truncate(1)"],
    ),
    beside(
        "cellfs-drop-check",
        &[("Take any age from now on:", "cellfs drop-check /srv/store users f age")],
        &["cellfs-create-check(1)"],
    ),
    beside(
        "cellfs-drop-index",
        &[("Its entries go too, the table stays as it is:", "cellfs drop-index /srv/store users city")],
        &["cellfs-create-index(1)"],
    ),
    beside(
        "cellfs-export",
        &[
            ("A table, with all that is known of its newest cells:", "cellfs export /srv/store t -o t.jsonl"),
            (
                "Two columns of some rows, for a spreadsheet:",
                "cellfs export /srv/store t f:name f:age --prefix com. -o t.csv",
            ),
            ("Every version and tombstone:", "cellfs export --history /srv/store t -o t-history.jsonl"),
            ("For DuckDB, pandas or Spark:", "cellfs export /srv/store t -o t.parquet"),
            (
                "With the types that a file of lines such as `f:age i64` names:",
                "cellfs export /srv/store t --schema types -o t.parquet",
            ),
        ],
        &["cellfs-import(1)", "cellfs-scan(1)", "cellfs-backup(8)"],
    ),
    beside("cellfs-flush", &[("All tables:", "cellfs flush /srv/store")], &["cellfs-compact(1)"]),
    beside(
        "cellfs-get",
        &[
            ("Two columns of a row:", "cellfs get /srv/store t r f:a f:b"),
            (
                "Several rows, one of them with bytes in its key:",
                r"cellfs get /srv/store t r1 --row r2 --row '\x00\xFF'",
            ),
            ("A value into a file:", "cellfs get --value /srv/store t r f:q"),
        ],
        &["cellfs-scan(1)", "cellfs-log(1)"],
    ),
    beside(
        "cellfs-import",
        &[
            ("What export has written:", "cellfs import /srv/store t t.jsonl"),
            (
                "Lines without names, bad ones into a file:",
                "cellfs import /srv/store t big.csv --columns HBASE_ROW_KEY,f:name,f:age --on-error bad.csv",
            ),
            ("On from where it was killed:", "cellfs import --resume /srv/store t big.csv"),
            (
                "A Parquet file of another program, whose columns are id, city and age:",
                "cellfs import /srv/store t people.parquet --columns HBASE_ROW_KEY,f:city,f:age",
            ),
        ],
        &["cellfs-export(1)", "cellfs-put(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-incr",
        &[("Count one more, and say how many:", "cellfs incr /srv/store t r f:hits")],
        &["cellfs-append(1)"],
    ),
    beside(
        "cellfs-key",
        &[
            (
                "Keys of a crawl: spread over eight places, pages of a site together, the newest first:",
                "cellfs key encode 'salt(8) reverse_domain(host) desc(time)' host=www.cnn.com,time=2014-11-18T05:20:00Z",
            ),
            ("What is slow about the keys of a table:", "cellfs key advise /srv/store web"),
        ],
        &["cellfs-key-encode(1)", "cellfs-key-decode(1)", "cellfs-key-advise(1)", "cellfs-scan(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-key-encode",
        &[
            ("A user's events, the newest first:", "cellfs key encode 'user desc(time)' user=ada,time=1416287999000"),
            ("A number that sorts as one:", "cellfs key encode 'customer u64(order)' customer=c17,order=4711"),
        ],
        &["cellfs-key(1)", "cellfs-key-decode(1)", "cellfs-put(1)"],
    ),
    beside(
        "cellfs-key-decode",
        &[("What a key says:", r"cellfs key decode 'user u16(n)' 'ada\x00\x00\x07'")],
        &["cellfs-key(1)", "cellfs-key-encode(1)"],
    ),
    beside(
        "cellfs-key-advise",
        &[("Look at 500 rows:", "cellfs key advise /srv/store web --sample 500")],
        &["cellfs-key(1)", "cellfs-describe(1)"],
    ),
    beside(
        "cellfs-list",
        &[("Tables:", "cellfs list /srv/store"), ("What can be brought back:", "cellfs list --dropped /srv/store")],
        &["cellfs-undrop(1)"],
    ),
    beside(
        "cellfs-log",
        &[
            ("Every version of a cell of a mount:", "cellfs log /mnt/cells/default/t/r/f/q"),
            ("The same of a store, with bytes in its names:", r"cellfs log /srv/store 't/\x00row/f/q'"),
        ],
        &["cellfs-undelete(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-mount",
        &[(
            "For all users, with every change on the disk before it is acknowledged:",
            "cellfs mount /srv/store /mnt/cells -o allow_other,durability=fsync",
        )],
        &["cellfs-umount(1)", "mount.cellfs(8)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-mv",
        &[("A row of any size, with its history:", "cellfs mv /srv/store t/old t/new")],
        &["cellfs-log(1)"],
    ),
    beside(
        "cellfs-profile",
        &[("Where half a minute goes below a table:", "cellfs profile --seconds 30 /mnt/cells/default/webtable")],
        &["cellfs-top(1)", "cellfs-stats(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-purge",
        &[("What was deleted in a row, for good:", "cellfs purge /srv/store t r")],
        &["cellfs-undelete(1)", "cellfs-compact(1)"],
    ),
    beside(
        "cellfs-put",
        &[
            ("A value of bytes:", r"cellfs put /srv/store t r f:q '\x00\x01'"),
            ("Only if nobody has it:", "cellfs put /srv/store t r f:lock mine --if-absent"),
            ("Cells from standard input, as scan --json has printed them:", "cellfs put --json /srv/store t -"),
        ],
        &["cellfs-get(1)", "cellfs-append(1)"],
    ),
    beside(
        "cellfs-scan",
        &[
            (
                "The last ten rows that begin with a prefix:",
                "cellfs scan /srv/store t --prefix com. --reversed --limit 10",
            ),
            ("Rows that an index has:", "cellfs scan /srv/store users --by city=Bonn f:name"),
            ("Pages of a site, whatever salt their keys have:", "cellfs scan /srv/store web --by-key=host=www.cnn.com"),
            ("A range of its values:", "cellfs scan /srv/store users --by age --value-from 30 --value-to 40"),
            ("By a filter, as JSON:", r#"cellfs --json scan /srv/store t --filter "ValueFilter(=,'substring:CNN')""#),
        ],
        &["cellfs-get(1)", "cellfs-count(1)", "cellfs-create-index(1)"],
    ),
    beside(
        "cellfs-shell",
        &[
            ("A session:", "cellfs shell /srv/store"),
            ("A statement, for a program:", r#"cellfs --json shell /srv/store -e "get 't', 'r'""#),
            ("A script, of which only the findings are wanted:", "cellfs shell -q -n /srv/store load.rb"),
        ],
        &["cellfs-scan(1)"],
    ),
    beside(
        "cellfs-snapshot",
        &[("Before something dangerous:", "cellfs snapshot create /srv/store before-upgrade")],
        &["cellfs-snapshot-create(1)", "cellfs-snapshot-restore(1)", "cellfs-backup(8)"],
    ),
    beside(
        "cellfs-snapshot-create",
        &[("Of one table:", "cellfs snapshot create /srv/store monday --table t")],
        &["cellfs-snapshot-list(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-snapshot-list",
        &[("As JSON:", "cellfs --json snapshot list /srv/store")],
        &["cellfs-snapshot-create(1)"],
    ),
    beside(
        "cellfs-snapshot-delete",
        &[("One:", "cellfs snapshot delete /srv/store monday")],
        &["cellfs-snapshot-list(1)"],
    ),
    beside(
        "cellfs-snapshot-clone",
        &[("Beside what it was made of:", "cellfs snapshot clone /srv/store monday t t-of-monday")],
        &["cellfs-snapshot-restore(1)"],
    ),
    beside(
        "cellfs-snapshot-restore",
        &[("One table of it:", "cellfs snapshot restore /srv/store monday t")],
        &["cellfs-snapshot-clone(1)"],
    ),
    beside("cellfs-stats", &[("For a scraper:", "cellfs stats --prometheus /srv/store")], &["cellfs-status(1)"]),
    beside(
        "cellfs-status",
        &[("Whether it is mounted, by whom, and what it does:", "cellfs status /srv/store")],
        &["cellfs-stats(1)", "cellfs-check(1)"],
    ),
    beside(
        "cellfs-top",
        &[
            ("What is asked of a mount now:", "cellfs top /mnt/cells"),
            ("Five looks, a second apart:", "cellfs top -i 1 -n 5 /mnt/cells"),
        ],
        &["cellfs-profile(1)", "cellfs-stats(1)"],
    ),
    beside(
        "cellfs-truncate",
        &[("All rows, into the trash:", "cellfs truncate /srv/store t")],
        &["cellfs-undrop(1)", "cellfs-drop(1)"],
    ),
    beside("cellfs-umount", &[("A mount:", "cellfs umount /mnt/cells")], &["cellfs-mount(1)", "mount.cellfs(8)"]),
    beside(
        "cellfs-undelete",
        &[
            ("What would come back of a row:", "cellfs undelete --list /mnt/cells/default/t/r"),
            ("As it was an hour ago:", "cellfs undelete --at -1h /srv/store t/r"),
        ],
        &["cellfs-log(1)", "cellfs-undrop(1)"],
    ),
    beside(
        "cellfs-undrop",
        &[("A table:", "cellfs undrop /srv/store t"), ("A family of it:", "cellfs undrop /srv/store t f")],
        &["cellfs-drop(1)", "cellfs-undelete(1)"],
    ),
    beside(
        "cellfs-watch",
        &[
            ("What is written in a table from now on:", "cellfs watch /mnt/cells/default/t"),
            ("For a program that was away since number 4711:", "cellfs --json watch /srv/store t --since 4711"),
            ("For one that has read three changes of that number:", "cellfs --json watch /srv/store t --since 4711:3"),
            ("To be able to be away for as long as a gigabyte:", "cellfs config /srv/store changes_retain 1G"),
        ],
        &["cellfs-log(1)", "cellfs-config(1)", "cellfs-tree(7)"],
    ),
    beside(
        "cellfs-why",
        &[("After an error here:", "cellfs why ."), ("The last three of a mount:", "cellfs why -n 3 /mnt/cells")],
        &["cellfs-tree(7)"],
    ),
];
