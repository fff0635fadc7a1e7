package io.oap.spark.rpc;

import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.IsolatedThreadSafeRpcEndpoint;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.RpcTimeout;
import org.apache.spark.util.RpcUtils;
import scala.Function1;
import scala.PartialFunction;
import scala.concurrent.Future;
import scala.concurrent.duration.FiniteDuration;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Requests and answers between driver and executors, over the connection that Spark has between
 * them anyway. Both are bytes: an executor receives on a class loader that does not know the jars
 * an application adds.
 */
public final class SparkRpc {
  private SparkRpc() {}

  /** Answers requests. */
  public interface Service {
    /**
     * @param request what was asked
     * @param sender where the sender can be asked in turn, or null when it cannot
     * @return the answer
     */
    byte[] answer(byte[] request, Peer sender) throws Exception;
  }

  /** Where requests can be sent. */
  public static final class Peer {
    private final RpcEndpointRef reference;

    private Peer(RpcEndpointRef reference) {
      this.reference = reference;
    }

    /**
     * Sends a request. It does not wait; the answer is a failure when the peer cannot be reached,
     * does not answer in time, or answers with an error.
     */
    public Future<byte[]> send(byte[] request, long timeoutMillis) {
      return send(new Message(request, null), timeout(timeoutMillis));
    }

    /**
     * Sends a request and waits for the answer.
     *
     * @param self the sender's own service, where it has one
     * @throws IOException when it cannot be reached, does not answer in time or answers with an
     *     error
     */
    public byte[] ask(byte[] request, Peer self, long timeoutMillis) throws IOException {
      RpcTimeout timeout = timeout(timeoutMillis);
      try {
        Message message = new Message(request, self == null ? null : self.reference);
        return timeout.awaitResult(send(message, timeout));
      } catch (Exception e) { // Scala throws checked exceptions that it does not declare
        if (e instanceof InterruptedException) {
          Thread.currentThread().interrupt();
        }
        throw new IOException("No answer from " + reference.name() + ": " + e.getMessage(), e);
      }
    }

    private Future<byte[]> send(Message message, RpcTimeout timeout) {
      return reference.ask(message.parts(), timeout, ClassTag$.MODULE$.apply(byte[].class));
    }

    private static RpcTimeout timeout(long millis) {
      return new RpcTimeout(FiniteDuration.apply(millis, "ms"), "the time OAP gives it");
    }
  }

  /** A request as it goes over the wire: classes of Java and Spark only. */
  private record Message(byte[] request, RpcEndpointRef sender) {
    Object[] parts() {
      return new Object[] {request, sender};
    }

    static Message of(Object received) {
      Object[] parts = (Object[]) received;
      return new Message((byte[]) parts[0], (RpcEndpointRef) parts[1]);
    }
  }

  /**
   * Begins to answer requests in this process.
   *
   * @param name under which others find the service
   * @param threads where requests are answered; what they refuse is answered with an error
   * @throws IllegalArgumentException when there is a service of that name already
   */
  public static Peer serve(SparkEnv environment, String name, Executor threads, Service service) {
    RpcEnv rpc = environment.rpcEnv();
    return new Peer(rpc.setupEndpoint(name, new Endpoint(rpc, threads, service)));
  }

  /**
   * The driver's service of this name.
   *
   * @throws IOException when there is none or the driver cannot be reached
   */
  public static Peer ofDriver(SparkEnv environment, String name) throws IOException {
    try {
      return new Peer(RpcUtils.makeDriverRef(name, environment.conf(), environment.rpcEnv()));
    } catch (Exception e) {
      throw new IOException("No service " + name + " in the driver: " + e.getMessage(), e);
    }
  }

  private static final class Endpoint implements IsolatedThreadSafeRpcEndpoint {
    private final RpcEnv rpc;
    private final Executor threads;
    private final Service service;

    Endpoint(RpcEnv rpc, Executor threads, Service service) {
      this.rpc = rpc;
      this.threads = threads;
      this.service = service;
    }

    @Override
    public RpcEnv rpcEnv() {
      return rpc;
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
      return new AbstractPartialFunction<>() {
        @Override
        public boolean isDefinedAt(Object received) {
          return true;
        }

        @Override
        public <A, B> B applyOrElse(A received, Function1<A, B> otherwise) {
          try {
            threads.execute(() -> reply(context, received));
          } catch (RejectedExecutionException e) {
            context.sendFailure(new IOException("too many requests at a time"));
          }
          return null;
        }
      };
    }

    private void reply(RpcCallContext context, Object received) {
      try {
        Message message = Message.of(received);
        Peer sender = message.sender == null ? null : new Peer(message.sender);
        context.reply(service.answer(message.request, sender));
      } catch (Exception | OutOfMemoryError e) {
        // The error is of memory outside the heap; it would end an executor if nobody caught it.
        // Only its words are sent: the other side may not know the class.
        context.sendFailure(new IOException(String.valueOf(e.getMessage())));
      }
    }
  }
}
