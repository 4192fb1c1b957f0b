import type {
  InvocationId,
  ObjectContext,
  ObjectSharedContext,
  RestatePromise,
  Serde,
} from "@restatedev/restate-sdk";
import { receiveCall, type ToolCall } from "../../engine/call/call.ts";
import type { ToolExecution } from "../../engine/call/execution.ts";
import {
  cancelledExecution,
  interruptedExecution,
  withdrawnExecution,
} from "../../sessions/calls/ended-calls.ts";
import type { DurableCall, DurableMessage, MessagePlace } from "../../sessions/durable/durable-runtime.ts";
import type { MessageRecord, SessionRecord } from "../../sessions/store/records.ts";
import { type CallProcess, keyOf, runDurableCall } from "../calls/durable-call.ts";
import { storedKeyOf } from "../connection/ingress.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import { callObject } from "../objects/call-object.ts";
import type { ObjectHandlers } from "../objects/object-handlers.ts";
import { inquiryObject, type StorePlace, sessionObject } from "../objects/object-keys.ts";
import { readValues } from "../objects/read-values.ts";
import {
  callsKey,
  cancelledKey,
  executionKey,
  type KeptCalls,
  type KeptSession,
  type KeptTurn,
  messageKey,
  SESSION_KEY,
  turnKey,
} from "../objects/session/session-state.ts";
import { withinMessage } from "../store/too-long.ts";
import { openInquiriesObject } from "./open-inquiry-handlers.ts";

/** How many calls of a tool may run at once, for tools that have such a limit. */
export type ToolPlaces = Readonly<Record<string, number>>;

/** Where a message is, and which one comes before it. */
interface MessageInput {
  readonly store: StorePlace;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messageId: string;
  readonly unattended?: true;
  /** As the server that accepted the message knows them: those of this one may differ. */
  readonly places: ToolPlaces;
  /** The invocation of the message before. */
  readonly after?: string;
}

const LAST_MESSAGE_KEY = "last-message";
/** How long results stay with their invocations. Later they are read from the state of the session. */
const RETENTION = { days: 1 };
/** A tool may run for this long. Workers that are gone are found by the pings of HTTP/2. */
const LONGEST_RUN = { days: 7 };

/** The key under which Restate runs a message once. */
export function messageKeyOf({ sessionId, turnId, messageId }: MessagePlace): string {
  return JSON.stringify([sessionId, turnId, messageId]);
}

/**
 * The handlers of a session that run its messages. Those that wait for tools and people are shared, so that answers and
 * cancellations never wait behind them.
 */
export function sessionRunHandlers(
  sdk: RestateSdk,
  addMessage: ObjectHandlers[string],
  process: () => CallProcess,
): ObjectHandlers {
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
    /** Keeps a message, and has it run. Returns the message that is known by this id; nothing if it is new. */
    accept: async (
      ctx: ObjectContext,
      input: { store: StorePlace; message: DurableMessage; place: number; places: ToolPlaces },
    ): Promise<MessageRecord | undefined> => {
      const { unattended, isAlone, ...message } = input.message;
      const known = (await addMessage(ctx, { message, place: input.place })) as MessageRecord | undefined;
      if (known !== undefined) return known;
      const { sessionId, turnId, messageId } = message;
      const after = isAlone ? null : await ctx.get<string>(LAST_MESSAGE_KEY);
      const parameter: MessageInput = {
        ...{ store: input.store, sessionId, turnId, messageId, places: input.places },
        ...(unattended && { unattended }),
        ...(after !== null && { after }),
      };
      const sent = ctx.genericSend({
        ...sessionObject(input.store, sessionId),
        ...{ method: "message", parameter, idempotencyKey: storedKeyOf(messageKeyOf(parameter)) },
        inputSerde: sdk.serde.json as Serde<MessageInput>,
      });
      if (!isAlone) ctx.set(LAST_MESSAGE_KEY, await sent.invocationId);
      return undefined;
    },

    /** Runs the calls of a message, after those of the message before. */
    message: shared(
      runOptions,
      async (ctx: ObjectSharedContext, input: MessageInput): Promise<readonly (ToolExecution | null)[]> => {
        const { store, sessionId, turnId, messageId, after } = input;
        if (after !== undefined) await waitFor(sdk, ctx, after);
        const keys = [messageKey(turnId, messageId), SESSION_KEY, cancelledKey(turnId)];
        const [message, session, cancelled] = await readValues<[MessageRecord, KeptSession, boolean]>(
          sdk,
          ctx,
          keys,
        );
        // The session was closed, or the turn was removed.
        if (message === null || session === null) return [];
        const { calls, userText, receivedAt: readAt } = message;
        if (cancelled !== null) return finish(calls.map((call) => cancelledExecution(receiveCall(call))));
        const run = (call: ToolCall, isFirst: boolean): RestatePromise<ToolExecution | null> => {
          const parameter: DurableCall = {
            ...{ sessionId, turnId, messageId, call },
            // The session can have changed before a call that waited for a place.
            ...(isFirst && { session: { record: session.record, readAt } }),
            ...(userText !== undefined && { userText }),
            ...(input.unattended && { unattended: input.unattended }),
          };
          return ctx.genericCall<unknown, ToolExecution | null>({
            ...sessionObject(store, sessionId),
            ...{ method: "call", parameter, idempotencyKey: keyOf(parameter) },
            inputSerde: sdk.serde.json as Serde<unknown>,
            outputSerde: sdk.serde.json as Serde<ToolExecution | null>,
          });
        };
        const isEnded = async (): Promise<boolean> => {
          const [open, ended] = await readValues<[KeptSession, boolean]>(sdk, ctx, keys.slice(1));
          return open === null || ended !== null;
        };
        return finish(withinMessage(await runAll(sdk, calls, { places: input.places, run, isEnded })));

        function finish(results: readonly (ToolExecution | null)[]): readonly (ToolExecution | null)[] {
          // What a hook aborted has no execution. Without one, the call would never be known to have ended.
          const ended = results.map(
            (result, index) => result ?? withdrawnExecution(receiveCall(calls[index])),
          );
          ctx.genericSend({
            ...sessionObject(store, sessionId),
            ...{ method: "finish", parameter: { turnId, messageId, results: withinMessage(ended) } },
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

    /** Keeps the results of a message. */
    finish: async (
      ctx: ObjectContext,
      input: { turnId: string; messageId: string; results: readonly (ToolExecution | null)[] },
    ): Promise<void> => {
      const { turnId, messageId, results } = input;
      const calls = await ctx.get<KeptCalls>(callsKey(turnId, messageId));
      if (calls === null) return;
      for (const [index, callId] of calls.callIds.entries()) {
        ctx.set(executionKey(turnId, messageId, callId), results[index]);
      }
      const states = calls.callIds.map((callId) => ({
        ...{ digest: "", ...calls.states.find((state) => state.callId === callId) },
        ...{ callId, isEnded: true as const },
      }));
      const others = calls.states.filter(({ callId }) => !calls.callIds.includes(callId));
      ctx.set<KeptCalls>(callsKey(turnId, messageId), { ...calls, states: [...states, ...others] });
    },

    /** Cancels the calls of a turn: those that have not begun here, and those that run where they ask for it. */
    cancelTurn: async (
      ctx: ObjectContext,
      { store, turnId, at }: { store: StorePlace; turnId: string; at: number },
    ): Promise<void> => {
      if ((await ctx.get(SESSION_KEY)) === null) return;
      ctx.set(cancelledKey(turnId), true);
      const { inquiries = [] } = (await ctx.get<KeptTurn>(turnKey(turnId))) ?? {};
      const resolution = { decision: "cancelled", at };
      for (const { id } of inquiries)
        await callObject(sdk, ctx, inquiryObject(store, id), "resolve", resolution);
      if (inquiries.length === 0) return;
      await callObject(
        sdk,
        ctx,
        openInquiriesObject(store),
        "remove",
        inquiries.map(({ id }) => id),
      );
    },

    /** Returns those of some turns that are cancelled. All are, if the session is closed. */
    cancelledTurns: shared(
      async (ctx: ObjectSharedContext, turnIds: readonly string[]): Promise<readonly string[]> => {
        if ((await ctx.get(SESSION_KEY)) === null) return turnIds;
        const found: string[] = [];
        for (const turnId of turnIds) if ((await ctx.get(cancelledKey(turnId))) !== null) found.push(turnId);
        return found;
      },
    ),

    read: shared(
      async (ctx: ObjectSharedContext): Promise<SessionRecord | undefined> =>
        (await ctx.get<KeptSession>(SESSION_KEY))?.record,
    ),
  };
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

/**
 * How many calls of a message run at once, and of how many that still run more are begun. Waiting for the first of many
 * takes as long as there are many, and is done again after each.
 */
const MAX_RUNNING = 64;
const REFILL_AT = 32;

interface CallRunner {
  readonly places: ToolPlaces;
  readonly run: (call: ToolCall, isFirst: boolean) => RestatePromise<ToolExecution | null>;
  /** Whether the turn was cancelled, or the session closed. */
  readonly isEnded: () => Promise<boolean>;
}

/** Runs the calls of a message at once, as far as their tools allow. Returns the results in order. */
async function runAll(
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
