#!/bin/bash
# A crawl: pages with their contents, and the anchors that lead to them. Keys as they are, and with the host reversed.
. "$(dirname "$0")/lib.sh"

pages() {
    awk -v quote="$1" 'BEGIN {
        print "HBASE_ROW_KEY,contents:html,anchor:cnnsi.com,anchor:my.look.ca"
        for (site = 0; site < 200; site++)
            for (page = 0; page < 10; page++) {
                host = sprintf("%s.site%03d.com", page % 2 ? "www" : "news", site)
                html = sprintf("<html>page %d of %s %060d</html>", page, host, page)
                key = quote ? sprintf("\"host=%s,path=%d\"", host, page) : sprintf("%s/%d", host, page)
                printf "%s,%s,site %d,look %d\n", key, html, site, page
            }
    }'
}

title "All pages of site042.com, whichever host they are on"
table bydomain contents,COMPRESSION=ZSTD anchor
recipe bydomain "reverse_domain(host) '/' path"
pages 1 | load --key bydomain
table byhost contents,COMPRESSION=ZSTD anchor
pages "" | load byhost
ask "key host/path: a filter over the whole table" \
    scan byhost contents --filter "RowFilter(=,'substring:.site042.com/')"
answers 10
whole=$READ
ask "key reversed host/path: the rows with a prefix" scan bydomain contents --prefix com.site042.
answers 10
argue "pages of a domain stand together once its name is reversed" "$READ" "$whole"

title "One host of it, by its fields"
ask "scan --by-key=host=news.site042.com" scan bydomain contents --by-key=host=news.site042.com
answers 5
ask "count of the same in the mount" cat "$MNT/default/bydomain/.key/host=news.site042.com/.count"
answers 1

title "Who links to a page: a family of its own, whose qualifiers are the pages that do"
ask "the whole row" get --key bydomain "host=www.site042.com,path=1"
row=$READ
ask "the family anchor alone" get --key bydomain "host=www.site042.com,path=1" anchor
answers 2
argue "families that are not asked for are not read" "$READ" "$((row + 1))"
stored bydomain
stored byhost
