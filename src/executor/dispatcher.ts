import { hash } from "node:crypto";
import { canonicalText } from "../json/canonical.ts";
import type { DispatchRequest } from "../remote-protocol/messages.ts";
import { RemoteProblem } from "../remote-protocol/problems.ts";
import { Admission } from "./admission.ts";
import { CallRunner, type ExecutorContext } from "./call-runner.ts";
import { CallWindow } from "./call-window.ts";
import { type CallListener, DispatchedCall } from "./dispatched-call.ts";
import type { ExecutorLimits } from "./limits.ts";
import { ExecutorMetrics } from "./metrics.ts";

/** A call that was taken. */
export interface Submission {
  /** The execution as JSON text; a promise that rejects with a {@link RemoteProblem} when it never runs. */
  readonly answer: string | Promise<string>;
  /** Whether the call was known already. */
  readonly isReplayed: boolean;
  /** To be called by whoever no longer waits for the answer. */
  leave(): void;
}

/** Seconds after which whoever was refused for the load may come again. */
const RETRY_AFTER_S = 1;
const MAX_UNDIGESTED_LENGTH = 128;

/** Takes calls from anywhere: each runs once, in its turn, under its caller's grant and the executor's own policy. */
export class Dispatcher {
  readonly metrics: ExecutorMetrics = new ExecutorMetrics();
  readonly #runner: CallRunner;
  readonly #admission: Admission;
  readonly #window: CallWindow<DispatchedCall>;
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(context: ExecutorContext, limits: ExecutorLimits) {
    this.#runner = new CallRunner(context, limits.callMs, this.metrics);
    this.#admission = new Admission(limits.inFlight, limits.queued);
    this.#window = new CallWindow(limits.window);
  }

  /**
   * Takes a call.
   *
   * @param caller Who asks: a call's id is the caller's own.
   * @param listener Gets the chunks and log lines, if the call's first request has one too.
   * @throws {RemoteProblem} when it cannot be taken.
   */
  submit(request: DispatchRequest, caller: string, listener?: CallListener): Submission {
    const { call, session } = request;
    const name = JSON.stringify([caller, session, call.id]);
    const digest = digestOf(call);
    const known = this.#window.find(name, digest);
    switch (known?.state) {
      case undefined:
        return this.#begin(name, digest, request, listener);
      case "conflict":
        throw new RemoteProblem(
          "call_id_conflict",
          "the session had another call of this id: give each its own",
        );
      case "forgotten":
        throw new RemoteProblem(
          "result_forgotten",
          "the call ran before, and its execution is no longer kept",
        );
      case "answered":
        this.metrics.replayed();
        return { answer: known.answer, isReplayed: true, leave: () => {} };
      case "running":
        this.metrics.replayed();
        return this.#wait(name, known.call, listener, true);
    }
  }

  /** Prometheus text. */
  writeMetrics(): string {
    const { inFlight, queued } = this.#admission;
    const { size: rememberedCalls, bytes: rememberedBytes } = this.#window;
    const isDraining = this.#isDraining;
    return this.metrics.write({ inFlight, queued, rememberedCalls, rememberedBytes, isDraining });
  }

  /** Takes no more calls; those that it has go on. Resolves when they have their answers. */
  drain(): Promise<void> {
    this.#isDraining = true;
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      this.#tellIfIdle();
    });
  }

  /** Cancels what runs and refuses what waits. */
  cancelAll(): void {
    this.#admission.refuseQueued();
    for (const call of this.#window.running) call.cancel();
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  #begin(
    name: string,
    digest: string,
    request: DispatchRequest,
    listener: CallListener | undefined,
  ): Submission {
    if (this.#isDraining) throw draining();
    const call = new DispatchedCall(request, listener !== undefined);
    const overloaded = (): RemoteProblem =>
      new RemoteProblem("overloaded", "too many calls: come again later", RETRY_AFTER_S);
    this.#window.begin(name, digest, call);
    const submission = this.#wait(name, call, listener, false);
    const place = this.#admission.enter(
      request.session,
      () => this.#start(name, call),
      () => this.#refuse(name, call, this.#isDraining ? draining() : overloaded()),
    );
    if (place === "refused") {
      this.#window.cancel(name);
      throw overloaded();
    }
    call.leaveQueue = place;
    return submission;
  }

  #wait(
    name: string,
    call: DispatchedCall,
    listener: CallListener | undefined,
    isReplayed: boolean,
  ): Submission {
    const leave = call.join(listener, () =>
      this.#refuse(name, call, new RemoteProblem("overloaded", "nobody waited for the call", RETRY_AFTER_S)),
    );
    return { answer: call.answer, isReplayed, leave };
  }

  #refuse(name: string, call: DispatchedCall, problem: RemoteProblem): void {
    this.#window.cancel(name);
    call.refuse(problem);
    this.#tellIfIdle();
  }

  #start(name: string, call: DispatchedCall): void {
    const { timeoutMs = Number.POSITIVE_INFINITY } = call.request;
    const left = timeoutMs - (performance.now() - call.arrivedAt);
    if (left <= 0) {
      this.#refuse(
        name,
        call,
        new RemoteProblem("deadline_passed", "the call's time was over before its turn"),
      );
      // Later, so that many such calls in a row do not pile up on the stack.
      queueMicrotask(() => this.#release());
      return;
    }
    this.#runner.run(call, left).then(
      (answer) => {
        this.#window.end(name, answer);
        call.complete(answer);
        this.#release();
      },
      () => {
        // It may have run: it is remembered without an answer.
        this.#window.end(name);
        call.refuse(new RemoteProblem("internal_error", "the executor failed: its operator can see why"));
        this.#release();
      },
    );
  }

  #release(): void {
    this.#admission.release();
    this.#tellIfIdle();
  }

  #tellIfIdle(): void {
    if (this.#isDraining && this.#window.running.length === 0) this.#onIdle?.();
  }
}

/** What tells a call's name and arguments from others: a short text does so itself. */
function digestOf({ name, arguments: args }: DispatchRequest["call"]): string {
  const text = JSON.stringify(name) + canonicalText(args);
  return text.length <= MAX_UNDIGESTED_LENGTH ? text : hash("sha256", text);
}

function draining(): RemoteProblem {
  return new RemoteProblem("draining", "the executor is about to end: call another one", RETRY_AFTER_S);
}
