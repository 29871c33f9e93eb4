#!/bin/bash
# Customers and their orders: three tables, one table of record types, line items that have all, one object.
. "$(dirname "$0")/lib.sh"

CUSTOMERS=100
ORDERS=10

each_order() {
    awk -v customers=$CUSTOMERS -v orders=$ORDERS "BEGIN {
        for (c = 0; c < customers; c++)
            for (o = 0; o < orders; o++) { $1 }
    }"
}
SHIP='city = "city" (c + s) % 9; street = "street " (c * 7 + s) % 50'

title "Loading 1,000 orders of 2 places with 3 items each, in five layouts"
table customers f
recipe customers "u64(customer)"
awk -v customers=$CUSTOMERS 'BEGIN {
    print "HBASE_ROW_KEY,f:name"; for (c = 0; c < customers; c++) printf "customer=%d,name %d\n", c, c }' | load --key customers

# Normalised: an order, its places, their items.
for of in order place item; do table "n_$of" f; done
recipe n_order "u64(customer) u32(order)"
recipe n_place "u64(customer) u32(order) u8(place)"
recipe n_item "u64(customer) u32(order) u8(place) u8(item)"
{ echo "HBASE_ROW_KEY,f:date"; each_order 'printf "\"customer=%d,order=%d\",2014-11-%02d\n", c, o, o + 1'; } | load --key n_order
{ echo "HBASE_ROW_KEY,f:city,f:street"
  each_order "for (s = 0; s < 2; s++) { $SHIP; printf \"\\\"customer=%d,order=%d,place=%d\\\",%s,%s\\n\", c, o, s, city, street }"
} | load --key n_place
{ echo "HBASE_ROW_KEY,f:item,f:quantity"
  each_order 'for (s = 0; s < 2; s++) for (i = 0; i < 3; i++) printf "\"customer=%d,order=%d,place=%d,item=%d\",part%d,%d\n", c, o, s, i, (c + i) % 40, i + 1'
} | load --key n_item

# One table, the type of the record in the key: the customer, then all of them.
table records f
recipe records "u64(customer) u8(type) u32(order) u8(kind) u8(place) u8(item)"
{ echo "HBASE_ROW_KEY,f:name,f:date,f:city,f:street,f:item,f:quantity"
  awk -v customers=$CUSTOMERS 'BEGIN { for (c = 0; c < customers; c++) printf "\"customer=%d,type=1,order=0,kind=0,place=0,item=0\",name %d,,,,,\n", c, c }'
  each_order 'printf "\"customer=%d,type=2,order=%d,kind=1,place=0,item=0\",,2014-11-%02d,,,,\n", c, o, o + 1'
  each_order "for (s = 0; s < 2; s++) { $SHIP; printf \"\\\"customer=%d,type=2,order=%d,kind=2,place=%d,item=0\\\",,,%s,%s,,\\n\", c, o, s, city, street }"
  each_order 'for (s = 0; s < 2; s++) for (i = 0; i < 3; i++) printf "\"customer=%d,type=2,order=%d,kind=3,place=%d,item=%d\",,,,,part%d,%d\n", c, o, s, i, (c + i) % 40, i + 1'
} | load --key records

# Denormalised: each item has the place that it goes to.
table items f
recipe items "u64(customer) u32(order) u8(item)"
{ echo "HBASE_ROW_KEY,f:date,f:city,f:street,f:item,f:quantity"
  each_order "for (s = 0; s < 2; s++) for (i = 0; i < 3; i++) { $SHIP; printf \"\\\"customer=%d,order=%d,item=%d\\\",2014-11-%02d,%s,%s,part%d,%d\\n\", c, o, s * 3 + i, o + 1, city, street, (c + i) % 40, i + 1 }"
} | load --key items

# Nested: the row of an order has its items as columns; and one object.
table nested f
recipe nested "u64(customer) u32(order)"
{ printf 'HBASE_ROW_KEY,f:date'
  for s in 0 1; do printf ',f:place%d.city,f:place%d.street' $s $s; for i in 0 1 2; do printf ',f:place%d.item%d' $s $i; done; done; echo
  each_order "printf \"\\\"customer=%d,order=%d\\\",2014-11-%02d\", c, o, o + 1
    for (s = 0; s < 2; s++) { $SHIP; printf \",%s,%s\", city, street; for (i = 0; i < 3; i++) printf \",part%d x%d\", (c + i) % 40, i + 1 }
    print \"\""
} | load --key nested
table objects f
recipe objects "u64(customer) u32(order)"
"$CELLFS" create-check "$STORE" objects f order --columns order --type json
{ echo "HBASE_ROW_KEY,f:order"
  each_order "printf \"\\\"customer=%d,order=%d\\\",\\\"{\\\"\\\"date\\\"\\\":\\\"\\\"2014-11-%02d\\\"\\\",\\\"\\\"places\\\"\\\":[\", c, o, o + 1
    for (s = 0; s < 2; s++) { $SHIP; printf \"%s{\\\"\\\"city\\\"\\\":\\\"\\\"%s\\\"\\\",\\\"\\\"street\\\"\\\":\\\"\\\"%s\\\"\\\",\\\"\\\"items\\\"\\\":[\", s ? \",\" : \"\", city, street
      for (i = 0; i < 3; i++) printf \"%s{\\\"\\\"item\\\"\\\":\\\"\\\"part%d\\\"\\\",\\\"\\\"quantity\\\"\\\":%d}\", i ? \",\" : \"\", (c + i) % 40, i + 1
      printf \"]}\" }
    print \"]}\\\"\""
} | load --key objects

title "One order with all that belongs to it"
three() {
    get --key n_order customer=42,order=7
    scan n_place --by-key=customer=42,order=7
    scan n_item --by-key=customer=42,order=7
}
ask "normalised: three tables, three questions" three
answers $((1 + 2 * 2 + 6 * 2))
ask "record types: rows of one table with a prefix" scan records --by-key=customer=42,type=2,order=7
answers $((1 + 2 * 2 + 6 * 2))
records=$READ
ask "denormalised: its items" scan items --by-key=customer=42,order=7
answers $((6 * 5))
ask "nested: one row" get --key nested customer=42,order=7
answers 11
nested=$READ
ask "one object: one cell" get --key objects customer=42,order=7
answers 1
argue "an order that is always read whole is one cell" "$READ" "$nested"
argue "a row is fewer cells than records" "$nested" "$records"

title "How many of an item are in it"
ask "nested: one column" get --key nested customer=42,order=7 f:place1.item2
answers 1
ask "one object: all of it, and a program that reads it" get --value --key objects customer=42,order=7 f:order

title "All that belongs to a customer"
ask "record types, customer first: one scan" scan records --by-key=customer=42
one=$READ
four() { get --key customers customer=42; for of in order place item; do scan "n_$of" --by-key=customer=42; done; }
ask "normalised: four tables" four
title "All customers"
ask "a table of their own" scan customers
answers $CUSTOMERS
own=$READ
ask "record types: among all orders" scan records --filter "SingleColumnValueFilter('f','name',!=,'binary:',true,true)" f:name
argue "what has a table of its own is listed without the rest" "$own" "$READ"

title "What is stored"
for of in n_order n_place n_item; do stored "$of"; done
stored records
stored items
many=$STORED
stored nested
stored objects
argue "a place that stands with each item costs room" "$STORED" "$many"
