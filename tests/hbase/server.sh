#!/bin/bash
# server.sh DIRECTORY MASTER_PORT ZOOKEEPER_PORT CLASS_PATH_FILE [ROLE]: HBase on 127.0.0.1 alone. Data and logs lie in
# DIRECTORY and survive a kill. Without ROLE one process is master, region server (at the port of the master and 20) and
# ZooKeeper; its log is DIRECTORY/log. ROLE zookeeper, master or regionserver-N (at the port of the master and 20+N) is one
# process of a cluster of many; its log is DIRECTORY/log-ROLE. It ends when it is killed; a master is up once its log says
# 'Master has completed initialization'. MORE_SITE names a file of more settings,
# each a name and a value. SCANNER_LEASE_MS is how long servers of many processes keep an idle scanner.
set -eu
dir=$1 port=$2 zk=$3 jars=$(cat "$4") role=${5:-all}
server=$((port + 20)) distributed=true conf=$dir/conf-$role log=$dir/log-$role heap=512m
case $role in
all) distributed=false conf=$dir/conf log=$dir/log heap=1g main='org.apache.hadoop.hbase.master.HMaster start' ;;
zookeeper) main="org.apache.zookeeper.server.ZooKeeperServerMain $conf/zoo.cfg" ;;
master) main='org.apache.hadoop.hbase.master.HMaster start' ;;
regionserver-*) server=$((server + ${role#*-})) main='org.apache.hadoop.hbase.regionserver.HRegionServer start' ;;
*) echo "no such role: $role" >&2; exit 2 ;;
esac
mkdir -p "$conf"
{
  echo '<configuration>'
  while read -r key value; do
    echo "<property><name>$key</name><value>$value</value></property>"
  done <<SITE
hbase.rootdir file://$dir/data
hbase.tmp.dir $dir/tmp
hbase.cluster.distributed $distributed
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
hbase.regionserver.port $server
hbase.regionserver.info.port -1
hbase.regionserver.handler.count 10
hbase.regionserver.msginterval 300
hbase.master.wait.on.regionservers.maxtostart 1
hbase.master.wait.on.regionservers.interval 200
hbase.master.wait.on.regionservers.timeout 1000
SITE
  # Dead servers are found out soon. A file has what was acknowledged: checksums beside it would wait for 512 bytes.
  [ "$role" = all ] || while read -r key value; do
    echo "<property><name>$key</name><value>$value</value></property>"
  done <<SITE
zookeeper.session.timeout 6000
fs.file.impl org.apache.hadoop.fs.RawLocalFileSystem
hbase.client.scanner.timeout.period ${SCANNER_LEASE_MS:-60000}
hbase.balancer.period 3600000
SITE
  [ -z "${MORE_SITE:-}" ] || while read -r key value; do
    echo "<property><name>$key</name><value>$value</value></property>"
  done <"$MORE_SITE"
  echo '</configuration>'
} >"$conf/hbase-site.xml"
printf '%s\n' tickTime=1000 maxSessionTimeout=60000 "dataDir=$dir/zookeeper" clientPortAddress=127.0.0.1 "clientPort=$zk" \
  admin.enableServer=false maxClientCnxns=0 >"$conf/zoo.cfg"
# What JDK 17 has closed and HBase needs.
opens=()
for package in java.lang java.lang.reflect java.io java.nio java.util java.util.concurrent sun.nio.ch \
  jdk.internal.ref jdk.internal.misc java.net; do
  opens+=(--add-opens "java.base/$package=ALL-UNNAMED")
done
printf '%s\n' log4j.rootLogger=INFO,out log4j.appender.out=org.apache.log4j.ConsoleAppender \
  log4j.appender.out.layout=org.apache.log4j.SimpleLayout >"$conf/log4j.properties"
# shellcheck disable=SC2086
exec java "${opens[@]}" -Dio.netty.tryReflectionSetAccessible=true -Djava.net.preferIPv4Stack=true -Xmx$heap \
  -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dlog4j2.disable.jmx=true -cp "$conf:$jars" $main >>"$log" 2>&1 </dev/null
