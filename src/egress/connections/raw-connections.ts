import { connect, type LookupFunction, type Socket } from "node:net";
import { EgressError, NO_TRAFFIC } from "../egress-error.ts";
import { egressErrorOf } from "../failure.ts";
import type { OriginRule } from "../net-rules.ts";
import { lookupFor, type ResolveHost, withoutBrackets } from "./checked-lookup.ts";

/** TCP connections over which their users speak themselves. None is shared or used again. */
export class RawConnections {
  readonly #resolve: ResolveHost;
  readonly #connectTimeoutMs: number;
  readonly #open = new Set<Socket>();
  /** Shared, so that connections that open at the same time look their name up once. */
  readonly #lookups = new WeakMap<OriginRule, LookupFunction>();
  #isClosed = false;

  /** @param connectTimeoutMs Milliseconds for name resolution and connecting. */
  constructor(resolve: ResolveHost, connectTimeoutMs: number) {
    this.#resolve = resolve;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  /**
   * Opens a connection, at an address that the rule allows. Half of it can be closed.
   *
   * @throws {EgressError} if it cannot be opened.
   */
  async open(rule: OriginRule, signal: AbortSignal): Promise<Socket> {
    if (this.#isClosed) throw new EgressError("closed", "the egress is closed");
    const { protocol, hostname, port } = new URL(rule.origin);
    const socket = connect({
      host: withoutBrackets(hostname),
      port: Number(port) || (protocol === "https:" ? 443 : 80),
      lookup: this.#lookupFor(rule),
      allowHalfOpen: true,
      noDelay: true,
    });
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // What fails after it was opened is for the user of the connection, who may not listen yet.
    socket.on("error", () => {});
    const timer = setTimeout(() => {
      socket.destroy(
        new EgressError(
          "connect_timeout",
          `'${hostname}' did not answer within ${this.#connectTimeoutMs} ms`,
        ),
      );
    }, this.#connectTimeoutMs);
    const abort = (): void => void socket.destroy(new EgressError("aborted", "the request was aborted"));
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("connect", resolve).once("error", reject);
        socket.once("close", () => reject(new EgressError("closed", "the egress is closed")));
      });
      return socket;
    } catch (error) {
      throw egressErrorOf(error, NO_TRAFFIC);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #lookupFor(rule: OriginRule): LookupFunction {
    let lookup = this.#lookups.get(rule);
    if (lookup === undefined) {
      lookup = lookupFor(rule, this.#resolve);
      this.#lookups.set(rule, lookup);
    }
    return lookup;
  }

  /** Closes every connection. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#open) socket.destroy();
  }
}
