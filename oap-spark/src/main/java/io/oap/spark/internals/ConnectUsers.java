package io.oap.spark.internals;

import java.lang.reflect.Method;
import org.apache.spark.util.Utils;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * The users of Spark Connect's sessions. Spark says nowhere else whose a session is: there {@code
 * current_user()} is the user of the server. By reflection, because Spark Connect is no part of
 * most applications.
 */
final class ConnectUsers {
  private static final String SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$";

  private ConnectUsers() {}

  /**
   * The user of a session; null when no client of Spark Connect made it.
   *
   * @param session the id of a classic session
   * @throws IllegalStateException when there are such sessions, but Spark does not say whose
   */
  static String of(String session) {
    Class<?> service = service();
    if (service == null) {
      return null;
    }
    try {
      Object manager = call(service.getField("MODULE$").get(null), "sessionManager");
      String user = find(session, (Seq<?>) call(manager, "listActiveSessions"));
      // A statement may still run when its session ends.
      return user != null ? user : find(session, (Seq<?>) call(manager, "listClosedSessions"));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("Spark Connect does not say whose a session is", e);
    }
  }

  private static String find(String session, Seq<?> among) throws ReflectiveOperationException {
    for (Iterator<?> all = among.iterator(); all.hasNext(); ) {
      Object info = all.next();
      if (session.equals(call(info, "serverSessionId"))) {
        return (String) call(info, "userId");
      }
    }
    return null;
  }

  /** Null where the application has no Spark Connect. */
  private static Class<?> service() {
    try {
      return Class.forName(SERVICE, true, Utils.getContextOrSparkClassLoader());
    } catch (ClassNotFoundException e) {
      return null;
    }
  }

  private static Object call(Object on, String method) throws ReflectiveOperationException {
    Method found = on.getClass().getMethod(method);
    return found.invoke(on);
  }
}
