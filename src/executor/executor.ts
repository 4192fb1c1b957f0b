import { refuseUnknown } from "../base/unknown-names.ts";
import { checkMembers, type DispatchContext, guardRedactions } from "../engine/call/context.ts";
import type { Credentials } from "../http/authentication.ts";
import { HttpServer } from "../http/http-server.ts";
import { completeLimits, type ExecutorLimits } from "./limits.ts";
import type { ExecutorContext } from "./once/call-runner.ts";
import { Dispatcher } from "./once/dispatcher.ts";
import { EXECUTOR_NAMES, type ExecutorOptions, partsOf } from "./options.ts";
import { ExecutorRoutes } from "./routes.ts";

/** What runs the calls of an executor, with the routes over which they come. */
export interface ExecutorCalls {
  readonly dispatcher: Dispatcher;
  readonly routes: ExecutorRoutes;
  /** Every call that is accepted may come on a connection of its own, all at the same time. */
  readonly backlog: number;
}

/** Options of {@link openExecutorCalls}. */
interface CallsOptions {
  readonly limits: ExecutorLimits;
  /** See `ExecutorOptions.frames`. */
  readonly frames: boolean | undefined;
  /** Throws a refusal if no calls are accepted now. Default: they always are. */
  readonly refuseIfPaused?: () => void;
}

/**
 * Opens what runs the calls of an executor, which no server serves yet.
 *
 * @throws {TypeError} if a member of the context is invalid.
 */
export function openExecutorCalls(
  given: ExecutorContext,
  { limits, frames = false, refuseIfPaused }: CallsOptions,
): ExecutorCalls {
  const context = guardRedactions(given);
  checkMembers(context as Partial<DispatchContext>);
  const dispatcher = new Dispatcher(context, limits);
  return {
    dispatcher,
    routes: new ExecutorRoutes({ dispatcher, limits, frames, refuseIfPaused }),
    backlog: limits.inFlight + limits.queued,
  };
}

/** A server that dispatches calls of other processes. `docs/remote-protocol.md` describes its protocol. */
export class Executor implements AsyncDisposable {
  readonly #server: HttpServer;
  readonly #dispatcher: Dispatcher;

  private constructor(server: HttpServer, dispatcher: Dispatcher) {
    this.#server = server;
    this.#dispatcher = dispatcher;
  }

  /** See {@link startExecutor}. @internal */
  static async start(options: ExecutorOptions): Promise<Executor> {
    refuseUnknown(options, EXECUTOR_NAMES, "an executor");
    const { context, listening, credentials } = partsOf(options);
    const limits = completeLimits(options.limits);
    const { dispatcher, routes, backlog } = openExecutorCalls(context, { limits, frames: options.frames });
    const server = await HttpServer.start(
      {
        ...listening,
        credentials,
        hasOtherCredentials: false,
        limits,
        backlog,
        processId: dispatcher.processId,
      },
      [routes],
    );
    return new Executor(server, dispatcher);
  }

  /** The scheme of its URLs. */
  get scheme(): "http" | "https" {
    return this.#server.scheme;
  }

  /** The address that the executor listens on: `127.0.0.1:7420`, `unix:/run/sandgate.sock` or `fd:3`. */
  get address(): string {
    return this.#server.address;
  }

  /**
   * Replaces tools, policy, credentials and certificates. Calls that have started continue under the old
   * ones. Signatures that were used are not accepted again.
   *
   * @param options.tls For new connections. If `clientCa` differs, open connections are closed after their
   *   current requests. Default: it stays.
   * @throws {ListenError} if clients from other machines could reach it without credentials; nothing is
   *   replaced then.
   * @throws {TypeError} if a credential or a certificate is invalid, or TLS or certificates of clients would
   *   begin or cease to be used; nothing is replaced then.
   */
  reload({
    registry,
    policy,
    tls,
    ...credentials
  }: Pick<ExecutorOptions, "registry" | "policy" | "tls"> & Credentials): void {
    this.#server.reload(credentials, { tls });
    this.#dispatcher.replace({ registry, policy });
  }

  /**
   * After `limits.drainDelayMs`, stops accepting calls, waits until the accepted ones end, cancels the
   * remaining ones after `limits.drainMs`, and closes. All accepted calls have been answered when it
   * resolves. Idempotent.
   */
  close(): Promise<void> {
    return this.#server.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Starts an executor.
 *
 * @throws {ListenError} if it cannot listen, or if clients from other machines could reach it without credentials.
 * @throws {TypeError} if an option is invalid.
 */
export function startExecutor<Embedder = unknown>(options: ExecutorOptions<Embedder>): Promise<Executor> {
  return Executor.start(options as ExecutorOptions);
}
