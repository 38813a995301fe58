import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;
import org.apache.hadoop.yarn.server.nodemanager.LocalDirsHandlerService;

/** Hadoop's shuffle service alone: java Shuffle.java FOLDER USER SECRET OTHER_SECRET. It prints its
    port as it gives it to masters, and the service data of the first job, in hexadecimal digits. */
public class Shuffle {
  static final long EPOCH = 1700000000000L;

  public static void main(String[] arguments) throws Exception {
    Configuration conf = new Configuration();
    conf.setInt("mapreduce.shuffle.port", 0);
    conf.set("yarn.nodemanager.local-dirs", arguments[0]);
    conf.set("yarn.nodemanager.log-dirs", arguments[0] + "/logs");
    LocalDirsHandlerService directories = new LocalDirsHandlerService();
    directories.init(conf);
    ShuffleHandler handler = new ShuffleHandler();
    handler.setAuxiliaryLocalPathHandler(new AuxiliaryLocalPathHandler() { // as the NodeManager's
      public Path getLocalPathForRead(String path) throws IOException {
        return directories.getLocalPathForRead(path);
      }
      public Path getLocalPathForWrite(String path) throws IOException {
        return directories.getLocalPathForWrite(path);
      }
      public Path getLocalPathForWrite(String path, long size) throws IOException {
        return directories.getLocalPathForWrite(path, size, false);
      }
      public Iterable<Path> getAllLocalPathsForRead(String path) throws IOException {
        return directories.getAllLocalPathsForRead(path);
      }
    });
    handler.init(conf);
    handler.start();
    for (int number = 1; number <= 2; number++) {
      ByteBuffer data = serviceData(arguments[1 + number], number);
      if (number == 1) System.out.println("data " + hexadecimal(data));
      handler.initializeApplication(new ApplicationInitializationContext(
          arguments[1], ApplicationId.newInstance(EPOCH, number), data));
    }
    System.out.println("port " + hexadecimal(handler.getMetaData()));
    while (System.in.read() >= 0) { }
    System.exit(0);
  }

  static ByteBuffer serviceData(String secret, int number) throws Exception {
    Text job = new Text("job_" + EPOCH + "_000" + number);
    Token<JobTokenIdentifier> token = new Token<>(
        new JobTokenIdentifier(job).getBytes(), secret.getBytes(), JobTokenIdentifier.KIND_NAME, job);
    return ShuffleHandler.serializeServiceData(token);
  }

  static String hexadecimal(ByteBuffer bytes) {
    StringBuilder text = new StringBuilder();
    for (ByteBuffer rest = bytes.duplicate(); rest.hasRemaining(); )
      text.append(String.format("%02x", rest.get()));
    return text.toString();
  }
}
