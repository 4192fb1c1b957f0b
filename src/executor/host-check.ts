import type { IncomingHttpHeaders } from "node:http";
import { RemoteProblem } from "../remote-protocol/problems.ts";

/** What can be a host and a port, and nothing that a URL would read otherwise. */
const AUTHORITY = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/;

/** Tells requests for this executor from those that a page led a browser to send (DNS rebinding). */
export class HostCheck {
  readonly #names: ReadonlySet<string> | undefined;

  /** @param names Hosts with their ports, in lower case; `undefined` takes all: no browser reaches a unix socket. */
  constructor(names: readonly string[] | undefined) {
    this.#names = names === undefined ? undefined : new Set(names.filter((name) => AUTHORITY.test(name)));
  }

  /**
   * Checks the headers `host` and `origin`.
   *
   * @returns the host, in lower case.
   * @throws {RemoteProblem} `misdirected`.
   */
  check({ host = "", origin }: IncomingHttpHeaders): string {
    if (origin !== undefined)
      throw new RemoteProblem("misdirected", "an executor takes no requests of browsers");
    if (this.#names?.has(host)) return host;
    const authority = host.toLowerCase();
    if (AUTHORITY.test(authority) && this.#names?.has(authority) !== false) return authority;
    throw new RemoteProblem(
      "misdirected",
      "the header host names another server: see the executor's 'hosts'",
    );
  }
}

/** The names of a machine's own loopback interface, with a port. */
export function loopbackNames(port: number): readonly string[] {
  return ["localhost", "127.0.0.1", "[::1]"].map((host) => `${host}:${port}`);
}
