#!/bin/bash
# server.sh DIRECTORY MASTER_PORT ZOOKEEPER_PORT CLASS_PATH_FILE: HBase in one process, on 127.0.0.1 alone: master, region
# server (at the port of the master and 20), ZooKeeper. Data and log lie in DIRECTORY and survive a kill. Ends when it is
# killed; it is up once the log says 'Master has completed initialization'.
set -eu
dir=$1 port=$2 zk=$3 jars=$(cat "$4")
mkdir -p "$dir/conf"
{
  echo '<configuration>'
  while read -r key value; do
    echo "<property><name>$key</name><value>$value</value></property>"
  done <<SITE
hbase.rootdir file://$dir/data
hbase.tmp.dir $dir/tmp
hbase.cluster.distributed false
hbase.unsafe.stream.capability.enforce false
hbase.wal.provider filesystem
hbase.zookeeper.quorum 127.0.0.1
hbase.zookeeper.property.dataDir $dir/zookeeper
hbase.zookeeper.property.clientPort $zk
hbase.zookeeper.property.clientPortAddress 127.0.0.1
hbase.master.hostname localhost
hbase.master.ipc.address 127.0.0.1
hbase.master.port $port
hbase.master.info.port -1
hbase.regionserver.hostname localhost
hbase.regionserver.ipc.address 127.0.0.1
hbase.regionserver.port $((port + 20))
hbase.regionserver.info.port -1
hbase.regionserver.handler.count 10
hbase.regionserver.msginterval 300
hbase.master.wait.on.regionservers.maxtostart 1
hbase.master.wait.on.regionservers.interval 200
hbase.master.wait.on.regionservers.timeout 1000
SITE
  echo '</configuration>'
} >"$dir/conf/hbase-site.xml"
# What JDK 17 has closed and HBase needs.
opens=()
for package in java.lang java.lang.reflect java.io java.nio java.util java.util.concurrent sun.nio.ch \
  jdk.internal.ref jdk.internal.misc java.net; do
  opens+=(--add-opens "java.base/$package=ALL-UNNAMED")
done
printf '%s\n' log4j.rootLogger=INFO,out log4j.appender.out=org.apache.log4j.ConsoleAppender \
  log4j.appender.out.layout=org.apache.log4j.SimpleLayout >"$dir/conf/log4j.properties"
exec java "${opens[@]}" -Dio.netty.tryReflectionSetAccessible=true -Djava.net.preferIPv4Stack=true -Xmx1g \
  -XX:+UseSerialGC -Dlog4j2.disable.jmx=true -cp "$dir/conf:$jars" \
  org.apache.hadoop.hbase.master.HMaster start >>"$dir/log" 2>&1 </dev/null
