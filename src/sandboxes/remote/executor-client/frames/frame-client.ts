import type { Socket } from "node:net";
import type { Dispatcher, Pool } from "undici";
import type { ConnectionAware } from "../../../../egress/connections.ts";
import { FRAMES_KEY_HEADER, FRAMES_PATH, FRAMES_PROTOCOL } from "../../../../remote-protocol/frames/frame.ts";
import { FrameSeals, SealExchange } from "../../../../remote-protocol/frames/seal.ts";
import { signRequest } from "../../../../remote-protocol/signatures/sign-request.ts";
import type { ExecutorAddress } from "../../../../tool/implementations/remote-implementation.ts";
import { openConnections } from "../connections.ts";
import type { CheckedCredentials } from "../credentials.ts";
import { FrameConnection } from "./frame-connection.ts";

/** How long calls go over HTTP until the next try, in ms: if the executor has no framed connections, or if opening one failed. */
const RETRY_MS = { refused: 60_000, failed: 1_000 };
/** Milliseconds for the executor's response to the upgrade, and for its first frame. */
const OPEN_TIMEOUT_MS = 5_000;
const OPEN_TIMEOUT = new Error("the upgrade took too long");

/**
 * Maintains a framed connection to an executor, opened by a call if there is none. Calls use HTTP until it is
 * ready, and if the executor or a proxy does not support framed connections.
 */
export class FrameClient {
  readonly #address: ExecutorAddress;
  readonly #credentials: CheckedCredentials;
  readonly #pool: Pool;
  #ready: FrameConnection | undefined;
  readonly #open = new Set<FrameConnection>();
  #isOpening = false;
  #nextTryAt = 0;
  #isClosed = false;

  constructor(address: ExecutorAddress, credentials: CheckedCredentials) {
    this.#address = address;
    this.#credentials = credentials;
    this.#pool = openConnections(address, credentials.tls, false);
  }

  /** Returns the connection if it can take a call now; otherwise, it may be opened for later calls. */
  connectionFor(bodyBytes: number): FrameConnection | undefined {
    const ready = this.#ready;
    if (ready === undefined) this.#openSoon();
    return ready?.hasRoomFor(bodyBytes) ? ready : undefined;
  }

  /** Ends all connections. Calls on them are lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connection of [...this.#open]) connection.destroy();
    await this.#pool.destroy();
  }

  #openSoon(): void {
    if (this.#isOpening || this.#isClosed || performance.now() < this.#nextTryAt) return;
    this.#isOpening = true;
    const { basePath } = this.#address;
    const { headers, sealsFrom } = this.#request();
    const path = basePath + FRAMES_PATH;
    const handler = new UpgradeHandler((end) => {
      if (end.socket === undefined) {
        this.#failed(end.isRefusal ? RETRY_MS.refused : RETRY_MS.failed);
        return;
      }
      const seals = sealsFrom?.(end.headers);
      if (this.#isClosed || (sealsFrom !== undefined && seals === undefined)) {
        end.socket.destroy();
        this.#failed(RETRY_MS.refused);
      } else this.#opened(end.socket, seals);
    });
    this.#pool.dispatch({ method: "GET", path, headers, upgrade: FRAMES_PROTOCOL }, handler);
  }

  /** Returns the headers of the upgrade and, if it is signed, a function that reads the key from the response. */
  #request(): {
    readonly headers: string[];
    readonly sealsFrom?: (headers: UpgradeHeaders) => FrameSeals | undefined;
  } {
    const { key, token } = this.#credentials;
    const headers = token === undefined ? [] : ["authorization", `Bearer ${token}`];
    if (key === undefined) return { headers };
    const exchange = new SealExchange();
    const path = this.#address.basePath + FRAMES_PATH;
    const covered = { upgrade: FRAMES_PROTOCOL, [FRAMES_KEY_HEADER]: exchange.publicKey };
    const signed = signRequest(
      { method: "GET", authority: this.#address.authority, path, covered },
      key,
      Date.now(),
      OPEN_TIMEOUT_MS,
    );
    return {
      headers: [...headers, ...Object.entries(signed).flat(), FRAMES_KEY_HEADER, exchange.publicKey],
      sealsFrom: (answered) => {
        const peer = String(answered[FRAMES_KEY_HEADER]);
        const secret = exchange.derive(peer, String(signed["signature"]), "client");
        return secret && new FrameSeals(secret);
      },
    };
  }

  #opened(socket: Socket, sealer: FrameSeals | undefined): void {
    const contact = Object.freeze({ origin: this.#address.url, address: socket.remoteAddress ?? "" });
    const connection = new FrameConnection(socket, {
      contact,
      sealer,
      onReady: () => {
        this.#isOpening = false;
        this.#ready = connection;
      },
      onRetired: () => {
        if (this.#ready === connection) this.#ready = undefined;
        else this.#failed(RETRY_MS.failed);
      },
    });
    this.#open.add(connection);
    socket.once("close", () => this.#open.delete(connection));
  }

  #failed(retryMs: number): void {
    this.#isOpening = false;
    this.#nextTryAt = performance.now() + retryMs;
  }
}

type UpgradeHeaders = Readonly<Record<string, string | string[] | undefined>>;

type UpgradeEnd =
  | { readonly socket: Socket; readonly headers: UpgradeHeaders }
  /** `isRefusal`: the executor has answered, but with no framed connection. */
  | { readonly socket: undefined; readonly isRefusal: boolean };

/** Reads the response to an upgrade. */
class UpgradeHandler implements Dispatcher.DispatchHandler, Partial<ConnectionAware> {
  connection: ConnectionAware["connection"];
  readonly #settle: (end: UpgradeEnd) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  readonly #timer: NodeJS.Timeout;

  constructor(settle: (end: UpgradeEnd) => void) {
    this.#settle = settle;
    this.#timer = setTimeout(() => {
      this.#controller?.abort(OPEN_TIMEOUT);
      this.#end({ socket: undefined, isRefusal: false });
    }, OPEN_TIMEOUT_MS).unref();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(OPEN_TIMEOUT);
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpgradeHeaders,
    socket: unknown,
  ): void {
    const isFramed = status === 101 && String(headers["upgrade"]).toLowerCase() === FRAMES_PROTOCOL;
    if (isFramed && !this.#isOver) this.#end({ socket: socket as Socket, headers });
    else {
      (socket as Socket).destroy();
      this.#end({ socket: undefined, isRefusal: true });
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) return;
    this.#end({ socket: undefined, isRefusal: true });
    controller.abort(new Error("the upgrade was refused"));
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    this.#end({ socket: undefined, isRefusal: true });
  }

  onResponseError(): void {
    this.#end({ socket: undefined, isRefusal: false });
  }

  #end(end: UpgradeEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#settle(end);
  }
}
