import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { FairBudget } from "../../base/fair-budget.ts";
import { type Authentication, authenticate, type Sender } from "../../http/authentication.ts";
import type { Door, Upgrades } from "../../http/door.ts";
import { refuseRepeated, stripBasePath } from "../../http/request.ts";
import { clientCertificateOf } from "../../http/tls/client-certificate.ts";
import { FRAMES_KEY_HEADER, FRAMES_PATH, FRAMES_PROTOCOL } from "../../remote-protocol/frames/frame.ts";
import { FrameSeals, SealExchange } from "../../remote-protocol/frames/seal.ts";
import { remoteProblem } from "../../remote-protocol/problems.ts";
import type { ExecutorLimits } from "../limits.ts";
import { draining, overloaded } from "../once/admission.ts";
import type { Dispatcher } from "../once/dispatcher.ts";
import { FrameConnection } from "./frame-connection.ts";

/**
 * Maximum number of framed connections in all, and how many each caller may always have, even if the total is
 * exhausted.
 */
const MAX_CONNECTIONS = { all: 1_000, each: 16 };

/** How often connections are checked for timeouts, in ms. */
const CHECK_MS = 1_000;

/** The open framed connections of an executor. */
class FrameConnections {
  readonly #open = new Set<FrameConnection>();
  readonly #budget = new FairBudget(MAX_CONNECTIONS.all, MAX_CONNECTIONS.each);
  #timer: NodeJS.Timeout | undefined;

  /** The number of connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Whether something has still to be reported to a client. */
  get areBusy(): boolean {
    return [...this.#open].some(({ isBusy }) => isBusy);
  }

  /** Acquires a slot for a connection. Returns a function that releases it; `undefined` if the caller has too many. */
  takePlace(caller: string): (() => void) | undefined {
    if (!this.#budget.acquire(caller, 1)) return undefined;
    let isTaken = true;
    return () => {
      if (isTaken) this.#budget.release(caller, 1);
      isTaken = false;
    };
  }

  add(connection: FrameConnection): void {
    this.#open.add(connection);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
  }

  delete(connection: FrameConnection): void {
    this.#open.delete(connection);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Accepts no further calls. */
  goAway(): void {
    for (const connection of this.#open) connection.goAway();
  }

  /** Ends the connections after what was sent. */
  end(): void {
    for (const connection of this.#open) connection.end();
  }

  /** Ends the connections at once, and cancels their calls. */
  destroy(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #check(): void {
    const now = performance.now();
    for (const connection of this.#open) connection.checkTimes(now);
  }
}

/** What {@link FrameUpgrades} are made of. */
interface FrameUpgradesOptions {
  readonly dispatcher: Dispatcher;
  readonly door: Door;
  readonly limits: ExecutorLimits;
  /**
   * Checks whether an authenticated sender may dispatch calls now.
   *
   * @throws {RequestRefusal} otherwise.
   */
  readonly admit: (sender: Sender) => void;
}

/** Maximum number of calls that one connection may have at once. */
const MAX_CALLS = 4_096;
/** Milliseconds after which a connection without calls is closed. */
const IDLE_MS = 60_000;

/** The components that the signature of an upgrade covers, in addition to those of every signature. */
const COVERED: readonly string[] = ["upgrade", FRAMES_KEY_HEADER];

/** Turns connections into framed ones, on which clients have many calls at once. */
export class FrameUpgrades implements Upgrades {
  readonly #connections: FrameConnections = new FrameConnections();
  readonly #options: FrameUpgradesOptions;

  constructor(options: FrameUpgradesOptions) {
    this.#options = options;
  }

  wanted({ method, url, headers }: IncomingMessage, basePath: string): boolean {
    const isPath = url === FRAMES_PATH || url === basePath + FRAMES_PATH;
    return method === "GET" && isPath && headers.upgrade === FRAMES_PROTOCOL;
  }

  get areBusy(): boolean {
    return this.#connections.areBusy;
  }

  end(): void {
    this.#connections.end();
  }

  destroy(): void {
    this.#connections.destroy();
  }

  /** Accepts no further calls. */
  goAway(): void {
    this.#connections.goAway();
  }

  handle(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const ignore = (): void => void socket.destroy();
    socket.on("error", ignore);
    this.#upgrade(request, socket, head)
      .then(() => socket.off("error", ignore))
      .catch((thrown: unknown) => this.#refuse(request, socket, thrown));
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { dispatcher, door, admit } = this.#options;
    refuseRepeated(request);
    this.#refuseMixed(request, socket);
    stripBasePath(request, door.authentication.basePath);
    const authority = door.hostCheck.check(request.headers);
    door.refuseRetired(socket);
    if (dispatcher.isDraining) throw draining();
    const sender = await authenticate(door, request, authority, COVERED);
    admit(sender);
    const free = this.#connections.takePlace(sender.caller);
    if (free === undefined) throw overloaded();
    socket.once("close", free);
    if (socket.destroyed) {
      free();
      return;
    }
    const { seals, lines } = sender.isSigned ? agree(request) : { seals: undefined, lines: [] };
    const status = "HTTP/1.1 101 Switching Protocols";
    const own = ["connection: Upgrade", `upgrade: ${FRAMES_PROTOCOL}`, ...lines];
    socket.write([status, ...own, "", ""].join("\r\n"));
    const services = this.#servicesFor(request, sender);
    const connection = new FrameConnection(socket, sender, services, seals);
    this.#connections.add(connection);
    socket.once("close", () => this.#connections.delete(connection));
    if (dispatcher.isDraining) connection.goAway();
    if (head.length > 0) socket.unshift(head);
    socket.resume();
  }

  /** @throws {RequestRefusal} `bad_request` if frames would be mixed with another response, or with the request's body. */
  #refuseMixed({ headers }: IncomingMessage, socket: Socket): void {
    if (this.#options.door.isAnsweringOn(socket)) {
      socket.destroy();
      throw remoteProblem("bad_request", "an earlier request on the connection has no response yet");
    }
    if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined)
      throw remoteProblem("bad_request", "a request for a framed connection has no body");
  }

  #servicesFor(request: IncomingMessage, sender: Sender): ConstructorParameters<typeof FrameConnection>[2] {
    const { dispatcher, door, limits, admit } = this.#options;
    // The credentials may have been replaced since the sender was authenticated, so they are compared for the first call, too.
    let checked: Authentication | undefined;
    const { isCertified = false } = sender;
    const { expiresAt = Number.POSITIVE_INFINITY } = isCertified
      ? (clientCertificateOf(request.socket) ?? {})
      : sender;
    return {
      dispatcher,
      bodies: door.bodies.budget,
      unread: door.unread,
      bounds: {
        process: dispatcher.processId,
        calls: MAX_CALLS,
        bodyBytes: limits.bodyBytes,
        idleMs: IDLE_MS,
      },
      requestMs: limits.requestMs,
      checkSender: () => {
        door.refuseRetired(request.socket);
        if (door.authentication !== checked) {
          door.authentication.refuseUnlessCurrent(sender);
          checked = door.authentication;
        }
        if (Date.now() >= expiresAt) throw remoteProblem("unauthenticated", "the credential has expired");
        admit(sender);
      },
      reportProblem: (thrown, body) => void door.report(request, thrown, body),
    };
  }

  #refuse(request: IncomingMessage, socket: Socket, thrown: unknown): void {
    const problem = this.#options.door.report(request, thrown);
    const { status, text } = problem;
    const headers = { ...problem.headers, "content-length": Buffer.byteLength(text), connection: "close" };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", text].join("\r\n"));
    socket.destroySoon();
  }
}

/**
 * Agrees on the key with which the client of a signed connection seals its frames.
 *
 * @throws {RequestRefusal} `bad_request` if the client's part is no key.
 */
function agree({ headers }: IncomingMessage): { readonly seals: FrameSeals; readonly lines: string[] } {
  const exchange = new SealExchange();
  const signature = String(headers["signature"]);
  const key = exchange.derive(String(headers[FRAMES_KEY_HEADER]), signature, "executor");
  if (key === undefined) {
    throw remoteProblem("bad_request", `the header ${FRAMES_KEY_HEADER} must be an X25519 key`);
  }
  return { seals: new FrameSeals(key), lines: [`${FRAMES_KEY_HEADER}: ${exchange.publicKey}`] };
}
