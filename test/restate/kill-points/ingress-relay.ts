import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { nameOf } from "./step-names.ts";
import type { Steps } from "./steps.ts";

/** Where requests for `/steps/NAME` are a step, too: those of tools. */
const STEPS = "/steps/";

/** Stands between a server and the ingress of Restate. Each request that changes something is a step, and so is its answer. */
export class IngressRelay {
  /** Those that are taken now. Default: none are counted. */
  steps: Steps | undefined;
  /** Awaited before a request or an answer goes on. Default: nothing is. */
  hold: ((step: string) => Promise<void> | undefined) | undefined;
  readonly #ingress: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #server = createServer((given, response) => void this.#relay(given, response));

  constructor(ingress: string) {
    this.#ingress = ingress;
  }

  /** Begins to listen. Returns its URL. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #relay(given: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "/", method, headers } = given;
    if (path.startsWith(STEPS)) {
      if (this.#take(path.slice(STEPS.length))) response.end();
      return;
    }
    const name = method === "POST" ? nameOf(path) : undefined;
    const body = await buffer(given);
    await this.hold?.(`${name} is sent`);
    if (name !== undefined && !this.#take(`${name} is sent`)) return;
    const forwarded = request(`${this.#ingress}${path}`, { method, headers, agent: this.#agent });
    forwarded.on("error", () => response.destroy());
    forwarded.on("response", async (answer) => {
      const text = await buffer(answer);
      await this.hold?.(`${name} is answered`);
      if (name !== undefined && !this.#take(`${name} is answered`)) return;
      response.writeHead(answer.statusCode as number, answer.headers).end(text);
    });
    forwarded.end(body);
  }

  #take(step: string): boolean {
    return this.steps?.take(step) ?? true;
  }
}
