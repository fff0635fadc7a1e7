package io.oap.spark.internals;

import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.CurrentUserContext$;

/** Users, and what Spark lets them see and do. */
public final class SparkUsers {
  private SparkUsers() {}

  /** Whether Spark's access lists are on; for the driver, as are the next two. */
  public static boolean hasAccessLists() {
    return SparkEnv.get().securityManager().aclsEnabled();
  }

  /** Whether a user may see what the application does. */
  public static boolean mayView(String user) {
    return SparkEnv.get().securityManager().checkUIViewPermissions(user);
  }

  /** Whether a user may change what the application does. */
  public static boolean mayModify(String user) {
    return SparkEnv.get().securityManager().checkModifyPermissions(user);
  }

  /**
   * The user for whom a session runs a statement on this thread: in Spark Connect whom the client
   * named; in the Thrift server whom the connection belongs to, as {@code current_user()} does;
   * else who runs the application.
   */
  public static String userOf(SparkSession session) {
    String user =
        ConnectUsers.of(((org.apache.spark.sql.classic.SparkSession) session).sessionUUID());
    return user == null ? CurrentUserContext$.MODULE$.getCurrentUser() : user;
  }
}
