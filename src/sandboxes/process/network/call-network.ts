import type { Traffic } from "../../../egress/egress-error.ts";
import { ForwardProxy, type ProxyOptions } from "../../../egress/proxy/forward-proxy.ts";
import { shorten } from "../../contract/failure-text.ts";
import type { SandboxTask } from "../../contract/task.ts";
import { PROCESS_DEFAULTS } from "../process-limits.ts";
import { PROXY_PORT, ProxyListener } from "./proxy-listener.ts";

/** The most bytes of a log line. */
const MAX_LINE_BYTES = 500;

/** What reaches the program itself. */
const LOCAL = "localhost,127.0.0.1,::1";
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;

/** The variables by which programs find the proxy. Some know one spelling only; Node.js asks to be told. */
export const PROXY_VARIABLES: Readonly<Record<string, string>> = {
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

/** The network of one call: a proxy, which is the only thing that its sandbox's network leads to. */
export class CallNetwork implements Disposable {
  readonly listener: ProxyListener;
  readonly #proxy: ForwardProxy;

  /** @returns `undefined` if the grant gives no network. */
  static of(
    { capabilities, limits, observer }: SandboxTask,
    openEgress: ProxyOptions["openEgress"],
  ): CallNetwork | undefined {
    const { net: grants = [] } = capabilities;
    if (grants.length === 0) return undefined;
    const proxy = new ForwardProxy({
      ...{ openEgress, grants, netBytes: limits.netBytes ?? PROCESS_DEFAULTS.netBytes },
      onDenied: (text) =>
        observer.log("warn", `The program's request was refused: ${shorten(text, MAX_LINE_BYTES)}`),
    });
    return new CallNetwork(proxy);
  }

  private constructor(proxy: ForwardProxy) {
    this.#proxy = proxy;
    this.listener = new ProxyListener((client) => proxy.accept(client));
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
