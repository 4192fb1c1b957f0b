import type { Traffic } from "../../../egress/egress-error.ts";
import { ForwardProxy, type ProxyOptions } from "../../../egress/proxy/forward-proxy.ts";
import { shorten } from "../../contract/failure-text.ts";
import type { Program } from "../program.ts";
import { OWN_LOOPBACK } from "./own-loopback.ts";
import { PROXY_PORT, ProxyListener } from "./proxy-listener.ts";

/** The most bytes of a log line. */
const MAX_LINE_BYTES = 500;

const LOCAL = OWN_LOOPBACK.join(",");
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** The variables by which programs find the proxy. Some know one spelling only; Node.js asks to be told. */
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

  /** The traffic of all requests; `undefined` if there was none. */
  get traffic(): Traffic | undefined {
    const { traffic } = this.#proxy;
    return traffic.contacted.length === 0 ? undefined : traffic;
  }

  [Symbol.dispose](): void {
    this.listener[Symbol.dispose]();
    this.#proxy.close();
  }
}
