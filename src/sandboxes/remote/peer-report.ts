import { Agent, type Dispatcher } from "undici";
import { messageOf } from "../../egress/egress-error.ts";
import { CLOCK_SKEW_S } from "../../remote-protocol/signatures/verifier.ts";
import type { ExecutorAddress } from "../../tool/implementations/remote-implementation.ts";
import type { Holding } from "../contract/holding.ts";
import { openConnections } from "./executor-client/connections.ts";
import { checkCredentials, type ExecutorCredentials } from "./executor-client/credentials.ts";

/** Milliseconds for which a peer is waited for. */
const TIMEOUT_MS = 3_000;

/** Another process, and whether it responds. */
export interface PeerReport {
  readonly kind: "executor" | "mcp";
  readonly url: string;
  readonly state: Holding;
  /** By how many seconds the peer's clock is ahead of this one; absent if the peer did not send its time. */
  readonly clockAheadS?: number;
}

/**
 * Asks an executor whether it is ready, and compares the clocks.
 *
 * @param credentials Only the certificates are used. Default: none.
 */
export async function reportExecutor(
  address: ExecutorAddress,
  credentials: ExecutorCredentials = {},
): Promise<PeerReport> {
  const { url, origin, basePath } = address;
  const pool = openConnections(address, checkCredentials(credentials).tls);
  return ask({ kind: "executor", url }, pool, new URL(`${basePath}/readyz`, origin), (status) =>
    status === 200
      ? { holds: true }
      : { holds: false, reason: `it is not ready: it responds with HTTP ${status}` },
  );
}

/** Asks an MCP server over HTTP for a response, without credentials: it refuses a plain GET, which shows that it is there. */
export async function reportServer(url: string): Promise<PeerReport> {
  return ask({ kind: "mcp", url }, new Agent({ connectTimeout: TIMEOUT_MS }), new URL(url), (status) =>
    status < 500 && status !== 404
      ? { holds: true }
      : { holds: false, reason: `it responds with HTTP ${status}` },
  );
}

async function ask(
  peer: Pick<PeerReport, "kind" | "url">,
  dispatcher: Dispatcher,
  { origin, pathname, search }: URL,
  judge: (status: number) => Holding,
): Promise<PeerReport> {
  try {
    const response = await dispatcher.request({
      origin,
      path: `${pathname}${search}`,
      method: "GET",
      headers: { accept: "text/event-stream" },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const clockAheadS = aheadOf(response.headers["date"]);
    // A stream of events has no end: it is not read further.
    response.body.on("error", () => {}).destroy();
    const state = judge(response.statusCode);
    if (clockAheadS === undefined) return { ...peer, state };
    if (state.holds && peer.kind === "executor" && Math.abs(clockAheadS) > CLOCK_SKEW_S)
      return { ...peer, state: skewed(clockAheadS), clockAheadS };
    return { ...peer, state, clockAheadS };
  } catch (error) {
    const isLate = (error as Error).name === "TimeoutError";
    const reason = isLate ? `it did not respond within ${TIMEOUT_MS / 1_000} s` : messageOf(error);
    return { ...peer, state: { holds: false, reason } };
  } finally {
    await dispatcher.destroy();
  }
}

function aheadOf(date: string | string[] | undefined): number | undefined {
  const time = typeof date === "string" ? Date.parse(date) : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.round((time - Date.now()) / 1_000);
}

function skewed(clockAheadS: number): Holding {
  const direction = clockAheadS > 0 ? "ahead of" : "behind";
  return {
    holds: false,
    reason: `its clock is ${Math.abs(clockAheadS)} s ${direction} this one, and signatures hold for clocks within ${CLOCK_SKEW_S} s`,
    remedy: "synchronise both clocks, for example with NTP",
  };
}
