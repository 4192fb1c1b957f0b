import type { ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { Server, type Socket } from "node:net";
import type { Traffic } from "../../egress/egress-error.ts";
import { ForwardProxy, type ProxyOptions } from "../../egress/proxy/forward-proxy.ts";
import { shorten } from "../contract/failure.ts";
import type { Program } from "./program.ts";
import { OWN_LOOPBACK } from "./reserved.ts";

/** Where programs find the proxy: at the usual port of proxies, on the loopback interface of their own network. */
const PROXY_PORT = 3_128;

/** Creates a listening socket, hands it over and exits. It runs in the sandbox before the program, under its filter. */
const HAND_OVER = [
  'const s = require("node:net").createServer();',
  's.on("error", (e) => { console.error(e.message); process.exit(1); });',
  'process.on("disconnect", () => process.exit(1));',
  `s.listen(${PROXY_PORT}, "127.0.0.1", () => { process.send("socket", s); process.send("sent", () => process.exit()); });`,
].join(" ");

/** The descriptors that the start script has for it. */
interface HandOverFds {
  /** The channel to this process. */
  readonly channel: number;
  /** The program of Node.js. */
  readonly node: number;
  /** From which a line is read. */
  readonly gate: number;
}

/** The listening socket of a sandbox. Connections to it come from the sandbox only, whose network it belongs to. */
export class ProxyListener implements Disposable {
  /** The program of Node.js, which need not be visible in the sandbox. */
  readonly nodeFd: number = openSync(process.execPath, "r");
  readonly #onClient: (client: Socket) => void;
  #server: Server | undefined;
  #isClosed = false;

  /** @param onClient Called for each connection. */
  constructor(onClient: (client: Socket) => void) {
    this.#onClient = onClient;
  }

  /**
   * Takes the socket over.
   *
   * @param child Has the channel. The script that it runs is not trusted to be the one above.
   * @returns Whether there is a socket. Settles when no process of the sandbox has the channel any more, so that Node.js has
   *   ended there.
   */
  takeOver(child: ChildProcess): Promise<boolean> {
    child.on("message", (_message, handle) => {
      if (handle instanceof Server) this.#take(handle);
    });
    return new Promise((resolve) => {
      child.once("disconnect", () => resolve(this.#server !== undefined));
      if (!child.connected) resolve(false);
    });
  }

  #take(server: Server): void {
    if (this.#isClosed || this.#server !== undefined) {
      server.close();
      return;
    }
    this.#server = server.on("connection", this.#onClient).on("error", () => {});
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.nodeFd);
    this.#server?.close();
  }
}

/** Maximum number of bytes of a log line. */
const MAX_LINE_BYTES = 500;

const LOCAL = OWN_LOOPBACK.join(",");
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** The variables by which programs find the proxy. Some programs know one spelling only; Node.js has to be asked to use them. */
const PROXY_VARIABLES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries({ http_proxy: PROXY, https_proxy: PROXY, all_proxy: PROXY, no_proxy: LOCAL }).flatMap(
      ([name, value]) => [
        [name, value],
        [name.toUpperCase(), value],
      ],
    ),
  ),
  NODE_USE_ENV_PROXY: "1",
};

/** What the network of a program lets through. */
export interface CallNetworkOptions extends Omit<ProxyOptions, "onDenied"> {
  /** Gets a text for operators when a request is refused. */
  readonly warn: (text: string) => void;
}

/** Settings by which programs that reach no network fail at once. Otherwise, they wait and try again for a minute or more. */
const NO_RETRIES: Readonly<Record<string, string>> = {
  CARGO_NET_RETRY: "0",
  PIP_RETRIES: "0",
  UV_HTTP_RETRIES: "0",
  npm_config_fetch_retries: "0",
};

/** The program with variables by which it finds the proxy, its only way to the network, or does not wait for one. */
export function withNetwork(program: Program, network: CallNetwork | undefined): Program {
  const retries = network?.leadsSomewhere ? {} : NO_RETRIES;
  return { ...program, env: { ...retries, ...program.env, ...(network && PROXY_VARIABLES) } };
}

/** The network of one program: a proxy, which is the only thing that its sandbox's network leads to. */
export class CallNetwork implements Disposable {
  readonly listener: ProxyListener;
  /** Whether anything is granted: otherwise every request is refused. */
  readonly leadsSomewhere: boolean;
  readonly #proxy: ForwardProxy;

  constructor({ warn, ...options }: CallNetworkOptions) {
    this.leadsSomewhere = options.grants.length > 0;
    this.#proxy = new ForwardProxy({
      ...options,
      onDenied: (text) => warn(`The program's request was refused: ${shorten(text, MAX_LINE_BYTES)}`),
    });
    this.listener = new ProxyListener((client) => this.#proxy.accept(client));
  }

  /** The traffic of all requests; `undefined` if there were no requests. */
  get traffic(): Traffic | undefined {
    const { traffic } = this.#proxy;
    return traffic.contacted.length === 0 ? undefined : traffic;
  }

  [Symbol.dispose](): void {
    this.listener[Symbol.dispose]();
    this.#proxy.close();
  }
}

/**
 * Returns the part of the start script, in one line, that has Node.js create a listening socket in the network of the sandbox and hand it
 * over, and then waits until this process says that the program may begin. Neither Node.js nor a channel to this process
 * is left for the program.
 *
 * @param fds Less than 10, which dash requires.
 */
export function handOverScript({ channel, node: program, gate }: HandOverFds): string {
  const node = `/usr/bin/env -i NODE_CHANNEL_FD=${channel} /proc/self/fd/${program}`;
  return (
    `( cd / && exec ${node} --no-warnings -e '${HAND_OVER}' </dev/null ${gate}>&- ) || exit; ` +
    `exec ${channel}>&- ${program}>&-; read -r _ <&${gate} || exit; `
  );
}
