import type {
  InvocationId,
  ObjectContext,
  ObjectSharedContext,
  RestatePromise,
  Serde,
} from "@restatedev/restate-sdk";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { receiveCall, type ToolCall } from "../../engine/call.ts";
import { callKey } from "../../record/identity.ts";
import {
  cancelledExecution,
  interruptedExecution,
  withdrawnExecution,
} from "../../sessions/calls/ended-calls.ts";
import type { DurableCall, DurableMessage, MessagePlace } from "../../sessions/durable-runtime.ts";
import type { MessageRecord, SessionRecord } from "../../sessions/store/store.ts";
import { type CallProcess, runDurableCall } from "../calls/durable-call.ts";
import { storedKeyOf } from "../connection/ingress.ts";
import type { RestateSdk } from "../connection/worker.ts";
import { callObject, type ObjectHandlers, readValues } from "../objects/handlers.ts";
import { confirmationObject, type StorePlace, sessionObject } from "../objects/object-keys.ts";
import { storeMessage } from "../objects/session/message-handlers.ts";
import {
  callsKey,
  executionKey,
  HEAD_KEY,
  hasEnded,
  type LastMessage,
  newTurn,
  nextPlace,
  SESSION_KEY,
  type StoredCalls,
  type StoredHead,
  type StoredSession,
  type StoredTurn,
  turnKey,
} from "../objects/session/session-state.ts";
import { withinMessage } from "../store/store-client.ts";
import { openConfirmationsObject } from "./open-confirmations.ts";

/** A message that runs. */
interface MessageInput {
  readonly store: StorePlace;
  readonly message: MessageRecord;
  /** The session when the message was accepted. Default: it is read, since a message before this one may end much later. */
  readonly session?: SessionRecord;
  readonly unattended?: true;
  readonly trace?: TraceHeaders;
  /** As the server that accepted the message knows them: those of this one may differ. */
  readonly places: ToolPlaces;
  /** The invocation of the message before, which has not ended. */
  readonly after?: string;
}

/** How long results stay with their invocations. Later they are read from the state of the session. */
const RETENTION = { days: 1 };
/** A tool may run for this long. Workers that are gone are found by the pings of HTTP/2. */
const LONGEST_RUN = { days: 7 };

/** The key under which Restate runs a message once. */
export function messageKeyOf({ sessionId, turnId, messageId, receivedAt }: MessagePlace): string {
  return JSON.stringify([sessionId, turnId, messageId, receivedAt]);
}

/**
 * The handlers of a session that run its messages. Those that wait for tools and people are shared, so that answers and
 * cancellations never wait behind them.
 */
export function sessionRunHandlers(sdk: RestateSdk, process: () => CallProcess): ObjectHandlers {
  const { shared } = sdk.handlers.object;
  const runOptions = {
    idempotencyRetention: RETENTION,
    journalRetention: { hours: 1 },
    inactivityTimeout: { minutes: 1 },
    abortTimeout: LONGEST_RUN,
    enableLazyState: true,
    retryPolicy: { initialInterval: 50, exponentiationFactor: 2, maxInterval: 2_000, maxAttempts: 1_000_000 },
  };
  return {
    /** Stores a message, and starts it. Returns the message that is known by this id; nothing if it is new. */
    accept: async (
      ctx: ObjectContext,
      input: { store: StorePlace; message: DurableMessage; place: number; places: ToolPlaces },
    ): Promise<MessageRecord | "forgotten" | undefined> => {
      const { unattended, isAlone, refusesForgotten, trace, ...message } = input.message;
      const stored = await storeMessage(sdk, ctx, { message, place: input.place, refusesForgotten });
      if (stored.known !== undefined) return stored.known;
      const { head, session } = stored;
      const after = isAlone ? undefined : await underWay(ctx, head.last);
      const parameter: MessageInput = {
        store: input.store,
        message,
        places: input.places,
        ...(unattended && { unattended }),
        ...(trace !== undefined && { trace }),
        ...(after === undefined ? { session } : { after }),
      };
      const sent = ctx.genericSend({
        ...sessionObject(input.store, message.sessionId),
        method: "message",
        parameter,
        idempotencyKey: storedKeyOf(messageKeyOf(message)),
        inputSerde: sdk.serde.json as Serde<MessageInput>,
      });
      const { turnId, messageId } = message;
      ctx.set<StoredHead>(
        HEAD_KEY,
        isAlone ? head : { ...head, last: { turnId, messageId, invocation: await sent.invocationId } },
      );
      return undefined;
    },

    /** Runs the calls of a message, after those of the message before. */
    message: shared(
      runOptions,
      async (ctx: ObjectSharedContext, input: MessageInput): Promise<readonly (ToolExecution | null)[]> => {
        const { store, message, after } = input;
        const { sessionId, turnId, messageId, calls, userText, receivedAt } = message;
        if (after !== undefined) await waitFor(sdk, ctx, after);
        const turn = await ctx.get<StoredTurn>(turnKey(turnId));
        // The session was closed, or the turn was removed.
        if (turn === null) return [];
        if (turn.isCancelled) return finish(calls.map((call) => cancelledExecution(receiveCall(call))));
        const session = input.session ?? (await ctx.get<StoredSession>(SESSION_KEY))?.record;
        if (session === undefined) return [];
        const run = (call: ToolCall, isFirst: boolean): RestatePromise<ToolExecution | null> => {
          const parameter: DurableCall = {
            sessionId,
            turnId,
            messageId,
            call,
            // The session can have changed before a call that waited for a place.
            ...(isFirst && { session: { record: session, readAt: receivedAt } }),
            ...(userText !== undefined && { userText }),
            ...(input.unattended && { unattended: input.unattended }),
            ...(input.trace !== undefined && { trace: input.trace }),
          };
          return ctx.genericCall<unknown, ToolExecution | null>({
            ...sessionObject(store, sessionId),
            method: "call",
            parameter,
            idempotencyKey: JSON.stringify([
              callKey({ ...parameter, callId: parameter.call.id }),
              receivedAt,
            ]),
            inputSerde: sdk.serde.json as Serde<unknown>,
            outputSerde: sdk.serde.json as Serde<ToolExecution | null>,
          });
        };
        const isEnded = async (): Promise<boolean> => {
          const now = await ctx.get<StoredTurn>(turnKey(turnId));
          return now === null || now.isCancelled === true;
        };
        return finish(withinMessage(await runCalls(sdk, calls, { places: input.places, run, isEnded })));

        function finish(results: readonly (ToolExecution | null)[]): readonly (ToolExecution | null)[] {
          // What a hook aborted has no execution. Without one, the call would never be known to have ended.
          const ended = results.map(
            (result, index) => result ?? withdrawnExecution(receiveCall(calls[index])),
          );
          ctx.genericSend({
            ...sessionObject(store, sessionId),
            method: "finish",
            parameter: { turnId, messageId, results: withinMessage(ended) },
            inputSerde: sdk.serde.json as Serde<unknown>,
          });
          return results;
        }
      },
    ),

    /** Runs a call. */
    call: shared(
      runOptions,
      (ctx: ObjectSharedContext, call: DurableCall): Promise<ToolExecution | null> =>
        runDurableCall(ctx, call, process()),
    ),

    /** Stores the results of a message. */
    finish: async (
      ctx: ObjectContext,
      input: { turnId: string; messageId: string; results: readonly (ToolExecution | null)[] },
    ): Promise<void> => {
      const { turnId, messageId, results } = input;
      const calls = await ctx.get<StoredCalls>(callsKey(turnId, messageId));
      if (calls === null) return;
      for (const [index, callId] of calls.callIds.entries()) {
        ctx.set(executionKey(turnId, messageId, callId), results[index]);
      }
      const states = calls.callIds.map((callId) => ({
        digest: "",
        ...calls.states.find((state) => state.callId === callId),
        callId,
        isEnded: true as const,
      }));
      const nested = calls.states.filter(({ callId }) => !calls.callIds.includes(callId));
      ctx.set<StoredCalls>(callsKey(turnId, messageId), { ...calls, states: [...states, ...nested] });
    },

    /** Cancels the calls of a turn: those that have not begun here, and those that run where they ask for it. */
    cancelTurn: async (
      ctx: ObjectContext,
      { store, turnId, at }: { store: StorePlace; turnId: string; at: number },
    ): Promise<void> => {
      const keys = [SESSION_KEY, HEAD_KEY, turnKey(turnId)];
      const [session, head, turn] = await readValues<[StoredSession, StoredHead, StoredTurn]>(sdk, ctx, keys);
      if (session === null) return;
      const place = nextPlace(at * 1_000, head);
      // Without a message: one that comes later does not run.
      if (turn === null) ctx.set<StoredHead>(HEAD_KEY, { ...head, place });
      const { inquiries: confirmations } = turn ?? { inquiries: [] };
      ctx.set<StoredTurn>(turnKey(turnId), { ...(turn ?? newTurn(turnId, place)), isCancelled: true });
      const resolution = { decision: "cancelled", at };
      for (const { id } of confirmations)
        await callObject(sdk, ctx, confirmationObject(store, id), "resolve", resolution);
      if (confirmations.length === 0) return;
      await callObject(
        sdk,
        ctx,
        openConfirmationsObject(store),
        "remove",
        confirmations.map(({ id }) => id),
      );
    },

    /** Returns those of some turns that are cancelled. All are, if the session is closed. */
    cancelledTurns: shared(
      async (ctx: ObjectSharedContext, turnIds: readonly string[]): Promise<readonly string[]> => {
        if ((await ctx.get(SESSION_KEY)) === null) return turnIds;
        const turns = await readValues<StoredTurn[]>(sdk, ctx, turnIds.map(turnKey));
        return turnIds.filter((_, index) => turns[index]?.isCancelled === true);
      },
    ),

    read: shared(
      async (ctx: ObjectSharedContext): Promise<SessionRecord | undefined> =>
        (await ctx.get<StoredSession>(SESSION_KEY))?.record,
    ),
  };
}

/** Returns the invocation of a message, unless it has ended. */
async function underWay(ctx: ObjectContext, last: LastMessage | undefined): Promise<string | undefined> {
  if (last === undefined) return undefined;
  const calls = await ctx.get<StoredCalls>(callsKey(last.turnId, last.messageId));
  return calls !== null && hasEnded(calls) ? undefined : last.invocation;
}

/** Waits until a message has ended, however it has. */
async function waitFor(sdk: RestateSdk, ctx: ObjectSharedContext, invocation: string): Promise<void> {
  try {
    await ctx.attach(invocation as InvocationId);
  } catch (error) {
    // It failed, or Restate has forgotten it.
    if (!(error instanceof sdk.TerminalError)) throw error;
  }
}

/** How many calls of a tool may run at once, for tools that have such a limit. */
export type ToolPlaces = Readonly<Record<string, number>>;

/**
 * How many calls of a message run at once, and of how many that still run more are begun. Waiting for the first of many
 * takes as long as there are many, and is done again after each.
 */
const MAX_RUNNING = 64;
const REFILL_AT = 32;

/** How {@link runCalls} runs the calls of a message. */
export interface CallRunner {
  readonly places: ToolPlaces;
  readonly run: (call: ToolCall, isFirst: boolean) => RestatePromise<ToolExecution | null>;
  /** Whether the turn was cancelled, or the session closed. */
  readonly isEnded: () => Promise<boolean>;
}

/** Runs the calls of a message at once, as far as their tools allow. Returns the results in order. */
export async function runCalls(
  sdk: RestateSdk,
  calls: readonly ToolCall[],
  { places, run, isEnded }: CallRunner,
): Promise<readonly (ToolExecution | null)[]> {
  const results = new Array<ToolExecution | null>(calls.length).fill(null);
  const running = new Map<number, RestatePromise<readonly [number, ToolExecution | null]>>();
  const waiting = new Set(calls.keys());
  const ofTool = new Map<string, number>();
  for (let isFirst = true; waiting.size + running.size > 0; isFirst = false) {
    let left = calls.length > MAX_RUNNING && running.size > REFILL_AT ? 0 : MAX_RUNNING - running.size;
    const free = [...waiting].filter((index) => {
      if (left === 0) return false;
      const { name } = calls[index] as ToolCall;
      const same = ofTool.get(name) ?? 0;
      if (same >= placesOf(places, name)) return false;
      ofTool.set(name, same + 1);
      left--;
      return true;
    });
    const isRefused = !isFirst && free.length > 0 && (await isEnded());
    for (const index of isRefused ? [...waiting] : free) {
      const call = calls[index] as ToolCall;
      waiting.delete(index);
      if (isRefused) results[index] = cancelledExecution(receiveCall(call));
      else running.set(index, run(call, isFirst).map(resultOf(call, index)));
    }
    if (running.size === 0) continue;
    const [index, result] = await sdk.RestatePromise.race([...running.values()]);
    const { name } = calls[index] as ToolCall;
    ofTool.set(name, (ofTool.get(name) as number) - 1);
    running.delete(index);
    results[index] = result;
  }
  return results;
}

function placesOf(places: ToolPlaces, name: string): number {
  return Object.hasOwn(places, name) ? (places[name] as number) : Number.POSITIVE_INFINITY;
}

/** A call whose invocation was killed may have begun. */
function resultOf(
  call: ToolCall,
  index: number,
): (result?: ToolExecution | null, failure?: Error) => readonly [number, ToolExecution | null] {
  return (result, failure) => [
    index,
    failure === undefined ? (result ?? null) : interruptedExecution(receiveCall(call)),
  ];
}
