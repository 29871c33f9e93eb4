package cellfs.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/** HBase's own client doing what benches/cluster does: ZOOKEEPER_PORT TABLE ROWS; a line each: name, operations a second. */
public final class ClientBench {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final byte[] VALUE = new byte[100];

  private interface Work {
    void run(Table table, int from, int to) throws Exception;
  }

  private static byte[] row(int n) {
    return Bytes.toBytes(String.format("row%08d", n));
  }

  private static Put put(int n) {
    return new Put(row(n)).addColumn(F, Q, 1, VALUE);
  }

  private static void time(Connection connection, TableName name, String what, int threads, int rows, Work work)
      throws Exception {
    CountDownLatch done = new CountDownLatch(threads);
    long started = System.nanoTime();
    for (int at = 0; at < threads; at++) {
      int from = rows / threads * at;
      Thread thread = new Thread(() -> {
        try (Table table = connection.getTable(name)) {
          work.run(table, from, from + rows / threads);
        } catch (Exception e) {
          e.printStackTrace();
          System.exit(1);
        }
        done.countDown();
      });
      thread.start();
    }
    done.await();
    System.out.printf("%s\t%.0f%n", what, rows / ((System.nanoTime() - started) / 1e9));
  }

  private static void puts(Table table, int from, int to) throws Exception {
    for (int n = from; n < to; n++) {
      table.put(put(n));
    }
  }

  private static void gets(Table table, int from, int to) throws Exception {
    for (int n = from; n < to; n++) {
      if (table.get(new Get(row(n))).isEmpty()) {
        throw new IllegalStateException("row " + n + " is missing");
      }
    }
  }

  private static void multi(Table table, int from, int to) throws Exception {
    for (int n = from; n < to; n += 1000) {
      List<Put> puts = new ArrayList<>();
      for (int at = n; at < Math.min(n + 1000, to); at++) {
        puts.add(put(at));
      }
      table.put(puts);
    }
  }

  private static void scan(Table table, int from, int to) throws Exception {
    int found = 0;
    try (ResultScanner scanner = table.getScanner(new Scan())) {
      for (Result result : scanner) {
        found += result.isEmpty() ? 0 : 1;
      }
    }
    if (found != to) {
      throw new IllegalStateException(found + " rows");
    }
  }

  public static void main(String[] args) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
    configuration.set("hbase.zookeeper.property.clientPort", args[0]);
    TableName name = TableName.valueOf(args[1]);
    int rows = Integer.parseInt(args[2]);
    try (Connection connection = ConnectionFactory.createConnection(configuration)) {
      // Warm: the virtual machine compiles what is often called.
      time(connection, name, "warm", 1, rows, ClientBench::multi);
      time(connection, name, "warm", 1, rows, ClientBench::puts);
      time(connection, name, "warm", 1, rows, ClientBench::gets);
      time(connection, name, "warm", 1, rows, ClientBench::scan);
      time(connection, name, "multi-put", 1, rows * 10, ClientBench::multi);
      time(connection, name, "put 1", 1, rows, ClientBench::puts);
      time(connection, name, "put 8", 8, rows * 4, ClientBench::puts);
      time(connection, name, "get 1", 1, rows, ClientBench::gets);
      time(connection, name, "get 8", 8, rows * 4, ClientBench::gets);
      time(connection, name, "scan", 1, rows * 10, ClientBench::scan);
    }
  }
}
