import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";

const PATH = "/callback";

/** The longest answer of a browser, in characters. */
const MAX_URL = 16_384;

/** Waits on a loopback address for the browser that comes back from an authorization server (RFC 8252, section 7.3). */
export class Loopback implements AsyncDisposable {
  /** An unguessable value, which the browser brings back. */
  readonly state: string = randomBytes(32).toString("base64url");
  readonly #server: Server;
  readonly #answer = Promise.withResolvers<URLSearchParams>();

  private constructor() {
    this.#server = createServer({ maxHeaderSize: 2 * MAX_URL }, (request, response) => {
      const { method, url = "" } = request;
      const asked = url.length <= MAX_URL ? URL.parse(url, "http://127.0.0.1") : null;
      response.setHeader("content-type", "text/plain; charset=utf-8");
      response.setHeader("connection", "close");
      if (method !== "GET" || asked?.pathname !== PATH)
        response.writeHead(404).end("There is nothing here.\n");
      else if (!isSame(asked.searchParams.get("state"), this.state)) {
        response.writeHead(400).end("This is not the answer to the login that is waiting.\n");
      } else {
        response.end("Sandgate has the answer. You can close this page.\n");
        this.#answer.resolve(asked.searchParams);
      }
    });
  }

  /**
   * Listens on 127.0.0.1.
   *
   * @param port Default: a free one.
   * @throws {AuthorizationError} if the port cannot be had.
   */
  static async open(port = 0): Promise<Loopback> {
    const loopback = new Loopback();
    await new Promise<void>((resolve, reject) => {
      loopback.#server.once("error", ({ code }: NodeJS.ErrnoException) =>
        reject(new AuthorizationError(`the port ${port} for the browser's answer cannot be had: ${code}`)),
      );
      loopback.#server.listen(port, "127.0.0.1", resolve);
    });
    return loopback;
  }

  /** Where the browser is sent. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${PATH}`;
  }

  /** The parameters of the first answer that has the right state. */
  get answer(): Promise<URLSearchParams> {
    return this.#answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function isSame(given: string | null, expected: string): boolean {
  const [a, b] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
