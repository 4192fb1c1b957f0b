import { DeadlineTimer } from "../../base/timers.ts";
import type { Metric } from "../../http/metrics.ts";
import { newProcessId } from "../../remote-protocol/http.ts";
import { type RequestRefusal, remoteProblem } from "../../remote-protocol/problems.ts";
import type { DispatchRequest } from "../../remote-protocol/shapes.ts";
import type { ExecutorLimits } from "../limits.ts";
import { ExecutorMetrics } from "../metrics.ts";
import { Admission, draining, overloaded } from "./admission.ts";
import { CallRunner, type ExecutorContext } from "./call-runner.ts";
import { CallWindow, identityOf, type RequestIdentity } from "./call-window.ts";
import { type CallOrigin, type CallWaiter, DispatchedCall } from "./dispatched-call.ts";

/**
 * The share of its wall time after which a client is notified that its call waits, or has waited: late, since most calls end before,
 * and some proxies take an interim response for the last one.
 */
const WAIT_TOLD_AFTER = 0.75;

/** A call that waits in the queue. */
interface QueuedCall {
  /** Its name in the window. */
  readonly name: string;
  readonly call: DispatchedCall;
}

/** A request to run a call. */
interface Submission extends RequestIdentity, CallOrigin {
  readonly request: DispatchRequest;
  readonly waiter: CallWaiter;
  /** Time of arrival, from `performance.now()`. */
  readonly arrivedAt: number;
}

/** Dispatches calls. Each runs once, in its turn, within its caller's grant and the executor's own policy. */
export class Dispatcher {
  readonly metrics: ExecutorMetrics = new ExecutorMetrics();
  /** Identifies this start of the executor. */
  readonly processId: string = newProcessId();
  readonly #context: ExecutorContext;
  readonly #runner: CallRunner;
  readonly #admission: Admission;
  readonly #window: CallWindow<DispatchedCall>;
  readonly #maxWaitMs: number;
  /** Refuses calls that wait in the queue for too long. */
  readonly #waiting: DeadlineTimer<QueuedCall> = new DeadlineTimer({
    deadlineOf: ({ call }) => call.arrivedAt + this.#maxWaitMs,
    expire: (queued) => this.#expire(queued),
  });
  /** Calls that wait, or have waited: their clients are notified before they give up. */
  readonly #late: DeadlineTimer<DispatchedCall> = new DeadlineTimer({
    deadlineOf: ({ arrivedAt, request }) =>
      arrivedAt + (request.grant.limits.wallTimeMs ?? 0) * WAIT_TOLD_AFTER,
    expire: (call) => {
      this.#late.delete(call);
      call.reportWait();
    },
  });
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(context: ExecutorContext, limits: ExecutorLimits) {
    this.#context = context;
    this.#runner = new CallRunner(context, limits.callMs, this.metrics);
    this.#admission = new Admission(limits.inFlight, limits.queued);
    this.#window = new CallWindow(limits.window);
    this.#maxWaitMs = limits.maxWaitMs;
  }

  get context(): ExecutorContext {
    return this.#runner.context;
  }

  /** Replaces tools and policy for calls that start later. */
  replace({ registry, policy }: Pick<ExecutorContext, "registry" | "policy">): void {
    this.#runner.context = { ...this.#runner.context, registry, policy };
  }

  /**
   * Submits a call.
   *
   * @param waiter Receives the result, and also chunks and log lines if the call's first waiter receives
   *   them.
   * @returns a function to call when the waiter leaves.
   * @throws {RequestRefusal} if the call is refused.
   */
  submit(request: DispatchRequest, { caller, principal, trace }: CallOrigin, waiter: CallWaiter): () => void {
    const identity = identityOf(request, caller);
    return this.#take({ request, principal, trace, waiter, ...identity, arrivedAt: performance.now() });
  }

  #take(submission: Submission): () => void {
    const { name, waiter, request } = submission;
    if (request.executor !== undefined && request.executor !== this.processId) throw elsewhere();
    const known = this.#window.find(submission);
    switch (known.state) {
      case "fresh":
        if (request.again !== undefined && !this.#neverRan(request)) throw unknownCall();
        return this.#begin(submission);
      case "conflict":
        throw remoteProblem(
          "call_id_conflict",
          "the session already had another call with this id: use a different id for each call",
        );
      case "ended":
        if (known.answer === undefined) throw resultForgotten();
        this.#replay(waiter);
        waiter.answered(known.answer);
        return () => {};
      case "begun":
        if (known.call.isAbandoned) return this.#follow(known.call, submission);
        this.#replay(waiter);
        return this.#wait(name, known.call, waiter);
    }
  }

  /** Whether a call that is not known cannot have run, although it may have been sent before. */
  #neverRan({ executor, again: { after = Number.NEGATIVE_INFINITY } = {} }: DispatchRequest): boolean {
    return executor === this.processId && after > this.#window.forgottenUntil;
  }

  #replay(waiter: CallWaiter): void {
    this.metrics.replayed();
    waiter.replayed();
  }

  readMetrics(): readonly Metric[] {
    const { inFlight, queued, queuedByPrincipal: queuedByCaller } = this.#admission;
    const { size: rememberedCalls, bytes: rememberedBytes } = this.#window;
    const isDraining = this.#isDraining;
    const calls = { inFlight, queued, queuedByCaller, rememberedCalls, rememberedBytes, isDraining };
    const { journal, sandboxes } = this.#context;
    return this.metrics.read({ ...calls, journal, sandboxes: sandboxes.stats?.() });
  }

  /** Stops accepting calls. Resolves when all accepted calls have been answered. */
  drain(): Promise<void> {
    this.#isDraining = true;
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      this.#notifyIfIdle();
    });
  }

  /** Cancels running calls, and refuses queued ones. */
  cancelAll(): void {
    this.#admission.refuseQueued();
    for (const call of this.#window.running) call.cancel();
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Why no call that is accepted now would run; `undefined` if calls run. */
  get unreadiness(): string | undefined {
    return this.#context.journal?.problem === undefined ? undefined : "the journal cannot be written";
  }

  #begin(submission: Submission): () => void {
    if (this.#isDraining) throw draining();
    const { request, caller, name, waiter, arrivedAt } = submission;
    const call = new DispatchedCall(request, submission, waiter.onEvent !== undefined, arrivedAt);
    // A client that sets no wall time waits for as long as it says.
    if (request.grant.limits.wallTimeMs !== undefined) call.onWait = () => this.#late.add(call);
    this.#window.begin(submission, call);
    const leave = this.#wait(name, call, waiter);
    const queued: QueuedCall = { name, call };
    let isQueued = true;
    const place = this.#admission.enter(
      { caller, session: request.session, principal: submission.principal?.id },
      () => {
        isQueued = false;
        this.#waiting.delete(queued);
        this.#start(name, call);
      },
      () => {
        this.#waiting.delete(queued);
        this.#refuse(name, call, this.#isDraining ? draining() : overloaded());
      },
    );
    if (place === "refused") {
      this.#window.cancel(name);
      throw overloaded();
    }
    call.leaveQueue = () => {
      this.#waiting.delete(queued);
      return place();
    };
    if (isQueued) {
      this.#waiting.add(queued);
      call.waits();
    }
    return leave;
  }

  #expire({ name, call }: QueuedCall): void {
    if (call.leaveQueue?.() === true) this.#refuse(name, call, waitedTooLong());
  }

  #wait(name: string, call: DispatchedCall, waiter: CallWaiter): () => void {
    call.join(waiter);
    return () => {
      if (call.leave(waiter) === "unstarted") this.#forget(name, call);
    };
  }

  /**
   * Submits a call when the same call, which is being cancelled, has ended: only then is its effect known.
   */
  #follow(call: DispatchedCall, submission: Submission): () => void {
    let leave: (() => void) | undefined;
    const stopFollowing = call.follow(() => {
      try {
        leave = this.#take(submission);
      } catch (thrown) {
        submission.waiter.refused(thrown as RequestRefusal);
      }
    });
    return () => {
      stopFollowing();
      leave?.();
    };
  }

  #refuse(name: string, call: DispatchedCall, problem: RequestRefusal): void {
    this.#forget(name, call);
    call.refuse(problem);
  }

  /** Removes a call that did not run from the window: it may be submitted again. */
  #forget(name: string, call: DispatchedCall): void {
    this.#late.delete(call);
    this.#window.cancel(name);
    this.#notifyIfIdle();
  }

  #start(name: string, call: DispatchedCall): void {
    const { timeoutMs = Number.POSITIVE_INFINITY } = call.request;
    const left = timeoutMs - (performance.now() - call.arrivedAt);
    if (left <= 0) {
      this.#refuse(name, call, waitedTooLong());
      // Deferred, since many such calls in a row would otherwise grow the stack.
      queueMicrotask(() => this.#release(call));
      return;
    }
    this.#runner.run(call, left).then(
      (answer) => {
        if (answer === undefined) this.#window.cancel(name);
        else {
          this.#window.end(name, answer);
          call.complete(answer);
        }
        this.#release(call);
      },
      (thrown: unknown) => {
        // The call may have run, so it is remembered without an answer.
        this.#window.end(name);
        const problem = remoteProblem("internal_error", "the executor failed unexpectedly");
        problem.cause = thrown;
        call.refuse(problem);
        this.#release(call);
      },
    );
  }

  #release(call: DispatchedCall): void {
    this.#late.delete(call);
    this.#admission.release(call.caller);
    call.notifyFollowers();
    this.#notifyIfIdle();
  }

  #notifyIfIdle(): void {
    if (this.#isDraining && this.#window.runningSize === 0) this.#onIdle?.();
  }
}

function waitedTooLong(): RequestRefusal {
  return remoteProblem("deadline_passed", "the call waited too long for its turn, and never began");
}

function resultForgotten(): RequestRefusal {
  return remoteProblem("result_forgotten", "the call already ran, and its execution is no longer kept");
}

function elsewhere(): RequestRefusal {
  return remoteProblem("other_executor", "the call is for another process than this one");
}

function unknownCall(): RequestRefusal {
  return remoteProblem(
    "unknown_call",
    "the call is not known here: it may have run on another process, or longer ago",
  );
}
