import type { OptionNames } from "../base/unknown-names.ts";
import type { Credentials } from "../http/authentication.ts";
import type { RefusedRequest } from "../http/refusals.ts";
import type { ServerTls } from "../http/tls/server-tls.ts";
import type { RefusedHandshake } from "../http/tls/tls-connections.ts";
import type { ExecutorLimits } from "./limits.ts";
import type { ExecutorContext } from "./once/call-runner.ts";

/**
 * The options of `startExecutor`. The executor does not close the sandboxes: close them after it.
 *
 * @typeParam Embedder As of `DispatchContext`.
 */
export type ExecutorOptions<Embedder = unknown> = ExecutorContext<Embedder> & Credentials & ListeningOptions;

/** How an executor listens. */
export interface ListeningOptions {
  /** The address to listen on: `HOST:PORT` (port 0 for any free port), `unix:PATH` or `fd:NUMBER`. */
  readonly listen: string;
  /**
   * Further values of the `host` header to accept, for example the name of a load balancer, with the port
   * unless it is 80 or 443. The address itself and the names of loopback are always accepted. Default: none.
   */
  readonly hosts?: readonly string[];
  /**
   * The path below which clients reach the executor through a proxy: `/tools`, if its URL is `https://HOST/tools`. Requests
   * are accepted with it and, from a proxy that removes it, without. Signatures must cover it. Default: none.
   */
  readonly basePath?: string;
  /**
   * Whether clients may have many calls at once on one connection (`upgrade: sandgate-frames/1`). Default: `false`. Requires
   * Node.js 24.9.
   */
  readonly frames?: boolean;
  /** Serves HTTPS alone. Default: HTTP. */
  readonly tls?: ServerTls;
  /**
   * Whether it may serve HTTP without TLS beyond this machine, because a proxy or the network encrypts. Default: `false`.
   */
  readonly plainHttp?: boolean;
  /** Limits of the load. Defaults: see {@link ExecutorLimits}. */
  readonly limits?: Partial<ExecutorLimits>;
  /**
   * Called for each request that is answered with a problem, for the operator's log. What it throws is ignored. Invalid
   * HTTP, which Node.js answers itself, does not get here. Default: not called.
   */
  readonly onRefusal?: (refused: RefusedRequest) => void;
  /**
   * Called for each connection whose TLS handshake fails, for the operator's log. What it throws is ignored. Default: not
   * called.
   */
  readonly onRefusedHandshake?: (refused: RefusedHandshake) => void;
}

/** The names of all options of `startExecutor`. */
export const EXECUTOR_NAMES: OptionNames<ExecutorOptions> = {
  registry: true,
  policy: true,
  sandboxes: true,
  turnId: true,
  messageId: true,
  workspace: true,
  agent: true,
  hooks: true,
  events: true,
  redaction: true,
  partialOutput: true,
  confirm: true,
  ask: true,
  stageChanges: true,
  journal: true,
  suspensions: true,
  tracer: true,
  idempotencyKey: true,
  decisionTimeoutMs: true,
  unhandledErrors: true,
  timeouts: true,
  embedder: true,
  keys: true,
  token: true,
  tokenName: true,
  tokens: true,
  certificates: true,
  listen: true,
  hosts: true,
  basePath: true,
  frames: true,
  tls: true,
  plainHttp: true,
  limits: true,
  onRefusal: true,
  onRefusedHandshake: true,
};

/** The members of the options that are those of a dispatch's context. */
export function contextOf(options: ExecutorOptions): ExecutorContext {
  // Every member of `ListeningOptions` and `Credentials` is named: a context has no unknown members.
  const {
    listen,
    hosts,
    basePath,
    frames,
    tls,
    plainHttp,
    limits,
    onRefusal,
    onRefusedHandshake,
    keys,
    token,
    tokenName,
    tokens,
    certificates,
    ...context
  } = options;
  return context;
}
