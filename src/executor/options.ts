import type { OptionNames } from "../base/unknown-names.ts";
import type { Credentials } from "../http/authentication.ts";
import type { ListeningOptions } from "../http/http-server.ts";
import type { ExecutorLimits } from "./limits.ts";
import type { ExecutorContext } from "./once/call-runner.ts";

/**
 * The options of `startExecutor`. The executor does not close the sandboxes: close them after it.
 *
 * @typeParam Embedder As of `DispatchContext`.
 */
export type ExecutorOptions<Embedder = unknown> = ExecutorContext<Embedder> &
  Credentials &
  ListeningOptions & {
    /**
     * Whether clients may have many calls at once on one connection (`upgrade: sandgate-frames/1`). Default: `false`. Requires
     * Node.js 24.9.
     */
    readonly frames?: boolean;
    /** Limits of the load. Defaults: see {@link ExecutorLimits}. */
    readonly limits?: Partial<ExecutorLimits>;
  };

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

/** The options of an executor, apart by who takes them. */
interface ExecutorParts {
  readonly context: ExecutorContext;
  readonly credentials: Credentials;
  readonly listening: ListeningOptions;
}

/** Divides the options: a context has no unknown members, so that every other one is named here. */
export function partsOf(options: ExecutorOptions): ExecutorParts {
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
  return {
    context,
    credentials: {
      ...(keys && { keys }),
      ...(token !== undefined && { token }),
      ...(tokenName !== undefined && { tokenName }),
      ...(tokens && { tokens }),
      ...(certificates && { certificates }),
    },
    listening: {
      listen,
      ...(hosts && { hosts }),
      ...(basePath !== undefined && { basePath }),
      ...(tls && { tls }),
      ...(plainHttp !== undefined && { plainHttp }),
      ...(onRefusal && { onRefusal }),
      ...(onRefusedHandshake && { onRefusedHandshake }),
    },
  };
}
