import type { ToolExecution } from "../../src/engine/call/execution.ts";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { CanonicalJson } from "../../src/json/canonical.ts";
import type { JsonValue } from "../../src/json/value.ts";
import type { CallIdentity } from "../../src/record/identity.ts";
import { Redaction } from "../../src/redaction/redaction.ts";
import { shownCall } from "../../src/sessions/calls/call-confirmation.ts";
import type { AnswerOutcome, PersonAnswer } from "../../src/sessions/confirmations/answer.ts";
import type { Confirmation } from "../../src/sessions/confirmations/confirmation.ts";
import { LocalConfirmations } from "../../src/sessions/confirmations/local-confirmations.ts";
import type { MessageRecord, SessionStore } from "../../src/sessions/store/store.ts";
import type { VectorMessage } from "./vector.ts";
import type { World } from "./world.ts";

/** What a person must know of a confirmation to answer it. */
export type OpenConfirmation = Pick<Confirmation, "id" | "digest" | "sessionId" | "messageId" | "callId">;

/** One process that dispatches messages and can be asked and answered. */
export interface Subject {
  /** Takes up what an earlier process left. */
  start(): Promise<void>;
  /** Resolves when every call of the message has ended. */
  dispatch(message: VectorMessage): Promise<unknown>;
  cancel(message: VectorMessage): void;
  /** Changes the mode of a session. Default: there are none. */
  setMode?(session: string, mode: "autonomous" | "cautious" | "manual"): void;
  open(): readonly OpenConfirmation[];
  answer(id: string, answer: PersonAnswer): Promise<{ readonly outcome: string }>;
  /** Whether it works on something that needs no answer. Default: it is told by its store. */
  isBusy?(): boolean;
  /** Stops timers after a crash. */
  discard(): void;
}

const redaction = new Redaction();

/** The engine with confirmations and a store, and nothing between them that could help. */
export class DirectSubject implements Subject {
  readonly #store: SessionStore;
  readonly #confirmations: LocalConfirmations;
  readonly #context: ReturnType<World["startProcess"]> & Pick<World, "sandboxes">;
  readonly #engine = new ToolDispatchEngine();
  readonly #controllers = new Map<string, AbortController>();
  readonly #messages = new Map<string, Promise<readonly (ToolExecution | null)[]>>();

  constructor(store: SessionStore, world: World) {
    this.#store = store;
    this.#confirmations = new LocalConfirmations({ store });
    this.#context = { ...world.startProcess(), sandboxes: world.sandboxes };
  }

  async start(): Promise<void> {
    await this.#confirmations.restore();
    for (const id of ["s1", "s2"]) {
      const principal = { id: `agent of ${id}`, kind: "agent" } as const;
      await this.#store.addSession({ id, principal, mode: "cautious", kind: "main", openedAt: 0 });
    }
    for (const record of await this.#store.unfinishedMessages()) this.#run(record);
  }

  async dispatch({ session, turn, id, calls }: VectorMessage): Promise<readonly (ToolExecution | null)[]> {
    const record: MessageRecord = {
      sessionId: session,
      turnId: turn,
      messageId: id,
      // Of calls that share an id, none can be told from the others.
      calls: structuredClone(
        calls.filter((call) => calls.every((other) => other === call || other.id !== call.id)),
      ),
      receivedAt: 0,
    };
    return this.#run((await this.#store.addMessage(record)) ?? record);
  }

  #run(record: MessageRecord): Promise<readonly (ToolExecution | null)[]> {
    const key = keyOf(record);
    const running = this.#messages.get(key) ?? this.#runCalls(record, key);
    this.#messages.set(key, running);
    return running;
  }

  async #runCalls(record: MessageRecord, key: string): Promise<readonly (ToolExecution | null)[]> {
    const controller = new AbortController();
    this.#controllers.set(key, controller);
    const states = await this.#store.calls(record.sessionId, record.turnId, record.messageId);
    return Promise.all(
      record.calls.map(async (call, index) => {
        const { state, execution = null } = states[index] ?? {};
        if (state === "ended") return execution;
        return this.#runCall(call, record, state === "begun", controller.signal);
      }),
    );
  }

  async #runCall(
    call: ToolCall,
    { sessionId, turnId, messageId }: MessageRecord,
    isBegun: boolean,
    signal: AbortSignal,
  ): Promise<ToolExecution | null> {
    const { digest } = new CanonicalJson(Object.freeze({ name: call.name, arguments: call.arguments }));
    const identity: CallIdentity = { sessionId, turnId, messageId, callId: call.id, digest };
    const execution = isBegun
      ? interrupted(call)
      : await this.#engine.dispatch(call, {
          ...this.#context,
          sessionId,
          turnId,
          messageId,
          signal,
          confirm: async (request, askSignal) => {
            const resolution = await this.#confirmations.ask(
              {
                kind: "call",
                sessionId,
                turnId,
                messageId,
                callId: request.callId,
                digest: request.digest,
                shown: shownCall(request, { redaction }),
                choices: ["allow", "deny", "always"],
              },
              { signal: askSignal, checkArguments: () => undefined },
            );
            if (resolution === "nobody") return { decision: "nobody" };
            const { decision, by = "", arguments: edited } = resolution;
            if (decision === "cancelled" || decision === "answer") return { decision: "nobody" };
            if (decision === "timeout") return { decision, afterMs: this.#confirmations.timeoutMs };
            return decision === "deny"
              ? { decision, by }
              : { decision, by, ...(edited !== undefined && { arguments: edited }) };
          },
          journal: {
            awaitsEvery: true,
            begin: async () => {
              const { state } = await this.#store.claim(identity);
              if (state !== "fresh") throw new Error(`the call is ${state}`);
            },
            end: () => {},
            deny: () => {},
          },
        });
    if (execution !== null) await this.#end(identity, execution);
    return execution;
  }

  /** A store that fails must not withhold a result; the next process finds the call begun. */
  async #end(identity: CallIdentity, execution: ToolExecution): Promise<void> {
    try {
      await this.#store.end(identity, execution);
    } catch {
      await this.#store.end(identity, execution);
    }
  }

  cancel({ session, turn, id }: VectorMessage): void {
    this.#controllers.get(keyOf({ sessionId: session, turnId: turn, messageId: id }))?.abort();
  }

  open(): readonly Confirmation[] {
    return this.#confirmations.open();
  }

  answer(id: string, answer: PersonAnswer): Promise<AnswerOutcome> {
    return this.#confirmations.answer(id, answer);
  }

  discard(): void {
    this.#confirmations.close();
  }
}

function keyOf({
  sessionId,
  turnId,
  messageId,
}: Pick<MessageRecord, "sessionId" | "turnId" | "messageId">): string {
  return JSON.stringify([sessionId, turnId, messageId]);
}

function interrupted({ id, name, arguments: args }: ToolCall): ToolExecution {
  return {
    callId: id,
    toolName: name,
    arguments: args as JsonValue,
    success: false,
    output: null,
    durationMs: 0,
    sandbox: null,
    receipt: { enforced: {}, used: { wallTimeMs: 0 } },
    error: { code: "execution_error", message: "interrupted", effect: "unknown", userVisible: true },
  };
}
