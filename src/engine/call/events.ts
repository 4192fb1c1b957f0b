import { adopt, isThenable } from "../../base/promises.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { CanonicalJson } from "../../json/canonical.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import type { NearMiss } from "../../policy/policy.ts";
import type { Principal } from "../../policy/principal.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { TaskTrace } from "../../sandboxes/contract/sandbox.ts";
import type { ArgumentProblem } from "../../schema/arguments.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { Display, LogLevel } from "../../tool/streamed.ts";
import type { ToolExecution } from "./execution.ts";

/**
 * Something that happens to a call, for operators: `detail`, which an execution lacks, may hold stacks, paths and rule
 * names. Every dispatched call ends with exactly one of `tool.completed`, `tool.failed` and `tool.aborted`. A
 * `tool.decided` comes before it if the policy decided on the call, and a `tool.started` if the call reached its sandbox.
 */
export type DispatchEvent = DispatchEventBase & DispatchEventBody;

/** The members that every event has. */
export interface DispatchEventBase {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** The caller; absent if the context does not name one. */
  readonly principal?: Principal;
  /** The id of the call whose tool makes this one; absent for a call of the model. */
  readonly parent?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The members that depend on the type of the event. */
export type DispatchEventBody =
  | { readonly type: "tool.aborted" }
  | {
      readonly type: "tool.decided";
      readonly decision: "allow" | "ask" | "deny";
      /** The names of the policy's rules that led to the decision. Empty if the policy names none. */
      readonly rules: readonly string[];
      /** Why the policy denies the call, or what it asks a person. */
      readonly reason?: string;
      /** The rules that would have allowed a denied call, and what they missed. */
      readonly near?: readonly NearMiss[];
      /** The version of the policy that decided, if it says so. */
      readonly policyRevision?: string;
      /** Who confirmed the call, if the policy was consulted once more after the answer. */
      readonly confirmedBy?: string;
      /** Milliseconds that the decision took. */
      readonly durationMs: number;
    }
  | ({ readonly type: "tool.confirmation_requested" } & ConfirmationRequested)
  | ({ readonly type: "tool.confirmation_resolved" } & ConfirmationResolved)
  | {
      readonly type: "tool.started";
      readonly grant: ExecutionGrant;
      /** The names of the policy's rules that led to the grant. Empty if the policy names none. */
      readonly rules: readonly string[];
      /** The worst that the tool can do, as it declares it. */
      readonly sideEffects: SideEffects;
      /** The validated arguments as canonical text, and its digest. */
      readonly canonical: CanonicalJson;
      /** The version of the policy that decided, if it says so. */
      readonly policyRevision?: string;
    }
  | { readonly type: "tool.output"; readonly chunk: string }
  | { readonly type: "tool.log"; readonly level: LogLevel; readonly message: string }
  | ({ /** A tool shows something to people. */ readonly type: "tool.display" } & Display)
  | {
      readonly type: "tool.completed";
      readonly execution: ToolExecution;
      /** As in `tool.started`. */
      readonly rules: readonly string[];
    }
  | {
      readonly type: "tool.failed";
      readonly execution: ToolExecution;
      readonly detail?: string;
      /** The names of the policy's rules that led to its decision on the call. Empty if it named none. */
      readonly rules: readonly string[];
      /** With `validation_error`: everything that is wrong with the arguments. */
      readonly problems?: readonly ArgumentProblem[];
      /**
       * The reference that the model reads in place of what the tool threw (see `unhandledErrors`): `detail` has the
       * message and the stack.
       */
      readonly reference?: string;
      /** With a reference. */
      readonly level?: "error";
    };

/** A person is asked. Sessions emit it. */
export type ConfirmationRequested = CallAsked | QuestionAsked;

/** A person is asked about a call that has not begun, or about a plan. */
export interface CallAsked extends AskedBase {
  readonly kind: "call" | "plan";
  /** The arguments, without secrets and with the middle of a long text left out. */
  readonly inputSummary: string;
  /** What the policy asks. */
  readonly question: string;
  /** The paths that the call would change, as the tool says. */
  readonly projectedChanges: readonly string[];
  readonly grant: ExecutionGrant;
  /** The answers that can be given. */
  readonly choices: readonly ("allow" | "deny" | "always")[];
}

/** A person is asked what a tool wants to know, whose call is running. The texts are those of the tool. */
export interface QuestionAsked extends AskedBase {
  readonly kind: "question";
  /** Without secrets and with the middle of a long text left out. */
  readonly question: string;
  /** The texts to choose from; absent if the answer is any text. */
  readonly options?: readonly string[];
  /** Whether several of the options can be given. */
  readonly multiple: boolean;
  /** The answers that can be given. */
  readonly choices: readonly ("answer" | "deny")[];
}

interface AskedBase {
  /** The id of the confirmation, which an answer names. */
  readonly requestId: string;
  /** Absent if the context does not say. */
  readonly turnId?: string;
  /** The worst that the tool can do, as it declares it. */
  readonly sideEffects: SideEffects;
  /** What is not shown, such as `12,345 characters left out, 1 secret hidden`. Empty if everything is. */
  readonly missing: string;
  /** Identifies exactly what is asked. An answer repeats it. */
  readonly digest: string;
  /** When the question expires, in milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A confirmation was answered, or can no longer be answered. Sessions emit it. */
export interface ConfirmationResolved {
  readonly requestId: string;
  readonly decision: "allow" | "answer" | "deny" | "timeout" | "cancelled";
  /** Who answered; absent if it was not answered. */
  readonly by?: string;
}

/** Receives each event, frozen. Errors that it throws and promises that it rejects are ignored. */
export type DispatchEventListener = (event: DispatchEvent) => unknown;

/** Passes events to listeners. Events are created only if there is a listener. */
export class EventStream {
  /** Replaced, never changed: listeners can be added and removed while an event is emitted. */
  #listeners: readonly DispatchEventListener[] = [];

  #keepsProgress = false;

  /**
   * Retains the progress of calls that begin from now on, which `progressOf` returns for their events.
   *
   * @internal
   */
  keepProgress(): void {
    this.#keepsProgress = true;
  }

  /** @internal */
  get keepsProgress(): boolean {
    return this.#keepsProgress;
  }

  /** Whether there is a listener. */
  get listening(): boolean {
    return this.#listeners.length > 0;
  }

  /** Adds a listener for every event. Returns a function that removes it. */
  on(listener: DispatchEventListener): () => void {
    if (!this.#listeners.includes(listener)) this.#listeners = [...this.#listeners, listener];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener);
    };
  }

  /** Calls every listener, in the order in which they were added. Never throws. */
  emit(event: DispatchEvent): void {
    Object.freeze(event);
    for (const listener of this.#listeners) {
      try {
        const answer = listener(event);
        // An unhandled rejection would end the process.
        if (isThenable(answer)) adopt(answer).catch(() => {});
      } catch {
        // A listener must not affect the call.
      }
    }
  }
}

/** Follows calls as they are dispatched. `callTracer` of `sandgate/opentelemetry` makes one that writes spans. */
export interface CallTracer {
  /** Called when a call arrives, before anything is checked. A call whose tracer throws is not followed. */
  begin(call: TracedCall): CallTrace;
  /** Returns a tracer whose calls belong to the trace of a request. */
  continue(headers: TraceHeaders): CallTracer;
}

/** A call that has arrived. Its id and its name are what the model sent, of any length. */
export interface TracedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId: string;
  /** Of the tool; `undefined` if no tool has this name. */
  readonly description: string | undefined;
  /** The call whose tool makes this one; `undefined` for a call of the model. */
  readonly parent: CallTrace | undefined;
  /** The redaction of the context. */
  readonly redaction: Redaction | undefined;
}

/** Follows one call until {@link CallTrace.ended}. Errors that its methods throw are ignored. */
export interface CallTrace extends TaskTrace {
  /** A policy decided on the call: called again after a person has confirmed it. */
  decided(decision: TracedDecision): void;
  /**
   * Runs the call's work, such that what the work traces belongs to the call. Returns what `work` returns.
   * The work runs once, even if this method does not run it.
   */
  run<Result>(work: () => Result): Result;
  /** The last call: the call has its result. */
  ended(end: TracedEnd): void;
}

/** The event `tool.decided`, not redacted. */
export type TracedDecision = Extract<DispatchEventBody, { readonly type: "tool.decided" }>;

/** The result of a call, not redacted except as the context says. */
export interface TracedEnd {
  /** `null` if a hook aborted the call. */
  readonly execution: ToolExecution | null;
  /** Why the call failed, for operators: a stack, a path or a rule. */
  readonly detail?: string | undefined;
  /** The reference that the model reads in place of what the tool threw. */
  readonly reference?: string | undefined;
}
