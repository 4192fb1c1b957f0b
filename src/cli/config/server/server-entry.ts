import { MAX_DELAY_MS } from "../../../base/timers.ts";
import { DURATION_FORM, formatDuration, parseDuration, parseSize, SIZE_FORM } from "../../../base/units.ts";
import {
  type CompiledShape,
  compileShape,
  DURATION,
  described,
  FLAG,
  type Flaw,
  mapOf,
  PATH,
  SIZE,
  TEXT,
  TEXTS,
} from "../../../config/shape.ts";
import { EXECUTOR_DEFAULT_LIMITS, type ExecutorLimits } from "../../../executor/limits.ts";
import { list, record, type Shape as Typed, type TypeOf, typed } from "../../../json/shape.ts";
import { TOKEN } from "../token.ts";
import { CREDENTIAL } from "./load-credentials.ts";
import { MCP } from "./load-mcp.ts";
import { TLS } from "./load-tls.ts";

const COUNT: Typed<number> = typed({
  type: "integer",
  minimum: 1,
  maximum: 10_000_000,
  message: "must be from 1 to 10000000",
});

const {
  inFlight,
  queued,
  connections,
  connectionsPerAddress,
  bodyBytes,
  requestMs,
  maxWaitMs,
  callMs,
  drainMs,
  window: results,
} = EXECUTOR_DEFAULT_LIMITS;

/** The default address of an executor. */
export const DEFAULT_LISTEN = "127.0.0.1:7420";

const LIMITS = mapOf({
  inFlight: described(COUNT, "How many calls run at once.", inFlight),
  queued: described(COUNT, "How many calls wait.", queued),
  connections: described(COUNT, "How many connections are open.", connections),
  connectionsPerAddress: described(
    COUNT,
    "How many of them come from one address, or from one network of 64 bits of IPv6.",
    connectionsPerAddress,
  ),
  body: described(SIZE, "The size of a request's body.", bodyBytes),
  requestTime: described(
    DURATION,
    "The time in which a request must arrive, and its response be read.",
    requestMs,
  ),
  waitTime: described(DURATION, "How long a call may wait until it begins.", maxWaitMs),
  callTime: described(DURATION, "The wall time of any call.", callMs),
  drainDelay: described(
    DURATION,
    "How long the server still accepts calls after SIGTERM, while its readiness probe fails. Default: no time.",
  ),
  drainTime: described(
    DURATION,
    "The time after which running calls are cancelled when the server ends.",
    drainMs,
  ),
  remember: described(
    mapOf({
      calls: described(COUNT, "How many calls.", results.calls),
      size: described(SIZE, "The size of their executions.", results.bytes),
      time: described(DURATION, "For how long.", results.ageMs),
    }),
    "Which calls that have ended are remembered, so that they do not run twice.",
  ),
});

const SERVER = mapOf({
  listen: described(
    TEXT,
    "`HOST:PORT`, `unix:PATH`, or `fd:3`: a socket inherited from the parent.",
    DEFAULT_LISTEN,
  ),
  hosts: described(
    TEXTS,
    "Further values of the header `host`, with the port unless it is the scheme's default. Default: none.",
  ),
  basePath: described(
    TEXT,
    "The path below which clients reach the server, if a proxy is before it, such as `/tools`. Default: none.",
  ),
  keys: described(
    record(PATH),
    "The public keys of clients of the executor in PEM, by key id. Default: none.",
  ),
  token: described(TOKEN, "The bearer token of clients of the executor without a key. Default: none."),
  tokenName: described(TEXT, "The id of the principal for clients with the token.", "token"),
  certificates: described(
    record(TEXT),
    "A name of a certificate for each client of the executor, such as `agent: URI:spiffe://example.org/agent`. Requires `tls` with `clientCa`. Default: none.",
  ),
  tls: described(TLS, "Serves HTTPS. Default: HTTP."),
  plainHttp: described(
    FLAG,
    "Whether others than this machine may be served HTTP without TLS, because a proxy or the network encrypts.",
    false,
  ),
  dropNetwork: described(
    FLAG,
    "Whether the process drops the network as soon as it listens, so that its tools have none.",
    false,
  ),
  frames: described(
    FLAG,
    "Whether clients may have many calls at once on one connection (`upgrade: sandgate-frames/1`).",
    false,
  ),
  sessions: described(FLAG, "Whether sessions are served.", false),
  executor: described(
    FLAG,
    "Whether calls can be dispatched without a session, under the policy alone, so that no person is asked: with `keys`, `token`, `certificates` and the role `client`. Default: `true` without `sessions`, `false` with them.",
  ),
  console: described(FLAG, "Whether the console is served at `/console/`. Requires `sessions`.", false),
  credentials: described(
    list(CREDENTIAL),
    "Who may use the sessions, and in which roles. Requires `sessions`. Default: none.",
  ),
  origins: described(
    TEXTS,
    "The origins of pages that may use the sessions from a browser. Requires `sessions`. Default: only the console's.",
  ),
  workspaces: described(
    TEXTS,
    "The workspaces that callers can choose, with everything below them; `~` is the home directory. Requires `sessions`. Default: none.",
  ),
  mcp: described(MCP, "How MCP is served, by `sandgate mcp serve`, and at `/mcp` with `sessions`."),
  limits: described(LIMITS, "The load that the server accepts."),
});

/** The shape of `server`: what `sandgate serve` needs besides tools and policy. */
export const SERVER_SHAPE: CompiledShape = compileShape(SERVER);

/** A value of the {@link SERVER_SHAPE}. Paths are relative to the file. */
export type ServerEntry = TypeOf<typeof SERVER>;

/** Parses limits, and adds their flaws to `flaws`. */
export function readExecutorLimits(written: TypeOf<typeof LIMITS>, flaws: Flaw[]): ExecutorLimits {
  const {
    inFlight = EXECUTOR_DEFAULT_LIMITS.inFlight,
    queued = EXECUTOR_DEFAULT_LIMITS.queued,
    connections = EXECUTOR_DEFAULT_LIMITS.connections,
    connectionsPerAddress = EXECUTOR_DEFAULT_LIMITS.connectionsPerAddress,
    remember = {},
  } = written;
  const { window } = EXECUTOR_DEFAULT_LIMITS;
  const refuse = (path: readonly string[], form: string): void => {
    flaws.push({ path, at: "value", message: `must be ${form}` });
  };
  const size = (path: readonly string[], text: string | number | undefined, fallback: number): number => {
    if (text === undefined) return fallback;
    const bytes = parseSize(text);
    if (bytes === undefined) refuse(path, SIZE_FORM);
    return bytes ?? fallback;
  };
  const time = (path: readonly string[], text: string | number | undefined, fallback: number): number => {
    if (text === undefined) return fallback;
    const ms = parseDuration(text);
    if (ms === undefined) refuse(path, DURATION_FORM);
    else if (ms > MAX_DELAY_MS) refuse(path, `at most ${formatDuration(MAX_DELAY_MS)}`);
    return ms ?? fallback;
  };
  return {
    inFlight,
    queued,
    connections,
    connectionsPerAddress,
    bodyBytes: size(["body"], written.body, EXECUTOR_DEFAULT_LIMITS.bodyBytes),
    requestMs: time(["requestTime"], written.requestTime, EXECUTOR_DEFAULT_LIMITS.requestMs),
    maxWaitMs: time(["waitTime"], written.waitTime, EXECUTOR_DEFAULT_LIMITS.maxWaitMs),
    callMs: time(["callTime"], written.callTime, EXECUTOR_DEFAULT_LIMITS.callMs),
    drainDelayMs: time(["drainDelay"], written.drainDelay, EXECUTOR_DEFAULT_LIMITS.drainDelayMs),
    drainMs: time(["drainTime"], written.drainTime, EXECUTOR_DEFAULT_LIMITS.drainMs),
    window: {
      calls: remember.calls ?? window.calls,
      bytes: size(["remember", "size"], remember.size, window.bytes),
      ageMs: time(["remember", "time"], remember.time, window.ageMs),
    },
  };
}
