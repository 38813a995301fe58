import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.logaggregation.AggregatedLogFormat.LogKey;
import org.apache.hadoop.yarn.logaggregation.AggregatedLogFormat.LogValue;
import org.apache.hadoop.yarn.logaggregation.AggregatedLogFormat.LogWriter;

/** Hadoop's writer of aggregated logs: java Logs.java TARGET LOGS USER CONTAINERS VIEW_ACL writes the
    logs of the first containers of application 1 in LOGS/APPLICATION/CONTAINER. */
public class Logs {
  public static void main(String[] arguments) throws Exception {
    LogWriter writer = new LogWriter();
    writer.initialize(new Configuration(), new Path("file://" + arguments[0]),
        UserGroupInformation.getCurrentUser());
    Map<ApplicationAccessType, String> acls = new TreeMap<>();
    if (!arguments[4].isEmpty()) acls.put(ApplicationAccessType.VIEW_APP, arguments[4]);
    writer.writeApplicationACLs(acls);
    writer.writeApplicationOwner(arguments[2]);
    ApplicationId application = ApplicationId.newInstance(1700000000000L, 1);
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(application, 1);
    for (int number = 1; number <= Integer.parseInt(arguments[3]); number++) {
      ContainerId container = ContainerId.newContainerId(attempt, number);
      writer.append(new LogKey(container),
          new LogValue(Arrays.asList(arguments[1]), container, arguments[2]));
    }
    writer.close();
  }
}
