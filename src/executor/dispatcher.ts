import { hash } from "node:crypto";
import { canonicalText } from "../json/canonical.ts";
import type { DispatchRequest } from "../remote-protocol/messages.ts";
import { RemoteProblem } from "../remote-protocol/problems.ts";
import { Admission } from "./admission.ts";
import { CallRunner, type ExecutorContext } from "./call-runner.ts";
import { CallWindow } from "./call-window.ts";
import { type CallWaiter, DispatchedCall } from "./dispatched-call.ts";
import type { ExecutorLimits } from "./limits.ts";
import { ExecutorMetrics } from "./metrics.ts";

/** A call that was taken. */
export type Submission =
  /** It ran before; its execution as JSON text. */
  | { readonly execution: string }
  | {
      /** Whether it runs already, for somebody else. */
      readonly isReplayed: boolean;
      /** To be called when its waiter no longer waits. */
      leave(): void;
    };

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
   * @param waiter Hears what becomes of it, unless that is known already; chunks and log lines too, if the call's
   *   first waiter wants them.
   * @throws {RemoteProblem} when it cannot be taken.
   */
  submit(request: DispatchRequest, caller: string, waiter: CallWaiter): Submission {
    const { call, session } = request;
    // Lengths tell where one part ends and the next one begins.
    const name = `${caller.length} ${session.length} ${caller}${session}${call.id}`;
    const digest = digestOf(call);
    const known = this.#window.find(name, digest);
    switch (known?.state) {
      case undefined:
        return this.#begin(name, digest, request, waiter);
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
        return { execution: known.answer };
      case "running":
        this.metrics.replayed();
        return this.#wait(name, known.call, waiter, true);
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

  #begin(name: string, digest: string, request: DispatchRequest, waiter: CallWaiter): Submission {
    if (this.#isDraining) throw draining();
    const call = new DispatchedCall(request, waiter.told !== undefined);
    this.#window.begin(name, digest, call);
    const submission = this.#wait(name, call, waiter, false);
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

  #wait(name: string, call: DispatchedCall, waiter: CallWaiter, isReplayed: boolean): Submission {
    call.join(waiter);
    const leave = (): void => {
      if (call.leave(waiter) === "unstarted") this.#forget(name);
    };
    return { isReplayed, leave };
  }

  #refuse(name: string, call: DispatchedCall, problem: RemoteProblem): void {
    this.#forget(name);
    call.refuse(problem);
  }

  /** A call that never ran may come again. */
  #forget(name: string): void {
    this.#window.cancel(name);
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
    if (this.#isDraining && this.#window.runningSize === 0) this.#onIdle?.();
  }
}

/** What tells a call's name and arguments from others: a short text does so itself. */
function digestOf({ name, arguments: args }: DispatchRequest["call"]): string {
  const text = JSON.stringify(name) + canonicalText(args);
  return text.length <= MAX_UNDIGESTED_LENGTH ? text : hash("sha256", text);
}

function overloaded(): RemoteProblem {
  return new RemoteProblem("overloaded", "too many calls: come again later", RETRY_AFTER_S);
}

function draining(): RemoteProblem {
  return new RemoteProblem("draining", "the executor is about to end: call another one", RETRY_AFTER_S);
}
