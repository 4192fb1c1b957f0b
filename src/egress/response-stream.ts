import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { ConnectionAware } from "./connections/pool.ts";
import type { EgressError } from "./egress-error.ts";
import { egressErrorOf } from "./failure.ts";
import type { EgressStream } from "./request.ts";

/** The reason given to undici when a response is aborted. It is never reported. */
const UNWANTED = new Error("the response is no longer wanted");

/** Hands on the response to one request as it arrives, with back pressure. */
export class ResponseStream implements Dispatcher.DispatchHandler, ConnectionAware {
  connection: ConnectionAware["connection"];
  readonly #origin: string;
  readonly #resolve: (stream: EgressStream) => void;
  readonly #reject: (error: EgressError) => void;
  readonly #onEnd: () => void;
  #controller: Dispatcher.DispatchController | undefined;
  #body: Readable | undefined;
  #cause: EgressError | undefined;
  #isSent = false;
  #isOver = false;

  /** @param onEnd Called once when the response is complete, or has failed. */
  constructor(
    origin: string,
    resolve: (stream: EgressStream) => void,
    reject: (error: EgressError) => void,
    onEnd: () => void,
  ) {
    this.#origin = origin;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
  }

  /** Ends the exchange. */
  abort(error: EgressError): void {
    if (this.#isOver) return;
    this.#cause = error;
    if (this.#body !== undefined) this.#body.destroy(error);
    else if (this.#controller !== undefined) this.#controller.abort(UNWANTED);
    else this.#fail(error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver || this.#cause !== undefined) controller.abort(UNWANTED);
    else this.#isSent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: object): void {
    if (status < 200) return;
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        if (!this.#isOver) controller.abort(UNWANTED);
        this.#end();
        done(error);
      },
    });
    this.#body = body;
    this.#resolve({ status, headers: headers as EgressStream["headers"], body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    this.#end();
    this.#body?.push(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#cause ?? this.#errorOf(error));
  }

  #errorOf(error: Error): EgressError {
    const address = this.connection?.address ?? "";
    const contacted = this.#isSent ? [{ origin: this.#origin, address }] : [];
    return egressErrorOf(error, { contacted, bytesUp: 0, bytesDown: 0 });
  }

  #fail(error: EgressError): void {
    if (this.#isOver) return;
    this.#end();
    if (this.#body === undefined) this.#reject(error);
    else this.#body.destroy(error);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd();
  }
}
