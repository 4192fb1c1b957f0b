import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { RemoteProblem } from "../../remote-protocol/problems.ts";

/** Matches a host with an optional port, but nothing that a URL parser would read differently. */
const AUTHORITY = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/;

/** Refuses requests that a web page made a browser send (DNS rebinding). */
export class HostCheck {
  readonly #names: ReadonlySet<string> | undefined;

  /**
   * @param names Hosts with their ports, in lower case; `undefined` to accept all, for a unix socket, which
   *   browsers cannot reach.
   */
  constructor(names: readonly string[] | undefined) {
    this.#names = names === undefined ? undefined : new Set(names.filter((name) => AUTHORITY.test(name)));
  }

  /**
   * Checks the headers `host` and `origin`.
   *
   * @returns the host, in lower case.
   * @throws {RemoteProblem} `bad_request` if the host is missing or malformed; `misdirected` if it is not a
   *   name of the executor, or there is an `origin`.
   */
  check({ host = "", origin }: IncomingHttpHeaders): string {
    if (origin !== undefined)
      throw new RemoteProblem("misdirected", "an executor does not accept requests from browsers");
    if (this.#names?.has(host)) return host;
    const authority = host.toLowerCase();
    if (!AUTHORITY.test(authority)) {
      throw new RemoteProblem(
        "bad_request",
        "the host header must be a single host, with the port unless it is the scheme's default",
      );
    }
    if (this.#names?.has(authority) !== false) return authority;
    throw new RemoteProblem(
      "misdirected",
      "the host header is not a name of this executor: see its option 'hosts'",
    );
  }
}

/** Of these, Node.js uses the first. */
const SINGLE: readonly string[] = ["host", "authorization"];

/**
 * Refuses a request with several headers `host` (RFC 9112, section 3.2) or `authorization`: Node.js uses the first, but an
 * intermediary may have used another one.
 *
 * @throws {RemoteProblem} `bad_request`.
 */
export function refuseRepeated({ rawHeaders }: IncomingMessage): void {
  const seen = new Set<string>();
  // `rawHeaders` alternates names and values.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 4 && name?.length !== 13) continue;
    const lower = name.toLowerCase();
    if (!SINGLE.includes(lower)) continue;
    if (seen.has(lower))
      throw new RemoteProblem("bad_request", `the request must have only one ${lower} header`);
    seen.add(lower);
  }
}

/** Returns the names of the loopback interface, with a port. */
export function loopbackNames(port: number): readonly string[] {
  return ["localhost", "127.0.0.1", "[::1]"].map((host) => `${host}:${port}`);
}
