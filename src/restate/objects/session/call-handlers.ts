import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { ToolExecution } from "../../../engine/call/execution.ts";
import { type CallIdentity, claimState } from "../../../record/identity.ts";
import type { SharedCount } from "../../../sessions/quotas.ts";
import type { Claim, MessageCallRecord } from "../../../sessions/store/store.ts";
import type { RestateSdk } from "../../connection/worker.ts";
import { type ObjectHandlers, reader, readValues, refusal } from "../handlers.ts";
import {
  COUNTS_KEY,
  callsKey,
  executionKey,
  type StoredCallState,
  type StoredCalls,
} from "./session-state.ts";

/** A call of the session. */
export type CallOfSession = Omit<CallIdentity, "sessionId" | "principal">;

/** The length of the JSON of executions that are returned together. */
const MAX_LENGTH = 8_000_000;

/** A call that is to be counted. JSON has no `Infinity`. */
interface CountedCall {
  readonly call: CallOfSession;
  readonly toolName: string;
  readonly calls: number | null;
  readonly callsOfTool: number | null;
}

type Counts = readonly (readonly [toolName: string, calls: number])[];

/** The handlers of the calls of a session. */
export function callHandlers(sdk: RestateSdk): ObjectHandlers {
  const known = (message: StoredCalls | null): StoredCalls => {
    if (message === null) throw refusal(sdk, "the message of the call is not in the store");
    return message;
  };
  return {
    /** Returns `false` if the call was counted before. */
    count: async (
      ctx: ObjectContext,
      { call, toolName }: { call: CallOfSession; toolName: string },
    ): Promise<boolean> => {
      const keys = [callsKey(call.turnId, call.messageId), COUNTS_KEY];
      const [found, counts] = await readValues<[StoredCalls, Counts]>(sdk, ctx, keys);
      const message = known(found);
      if (stateOf(message, call).isCounted === true) return false;
      set(ctx, message, { ...stateOf(message, call), isCounted: true });
      const changed = new Map(counts);
      changed.set(toolName, (changed.get(toolName) ?? 0) + 1);
      ctx.set<Counts>(COUNTS_KEY, [...changed]);
      return true;
    },

    /** Counts a call, unless that would exceed a limit; `null` stands for none. */
    countWithin: async (
      ctx: ObjectContext,
      { call, toolName, calls, callsOfTool }: CountedCall,
    ): Promise<SharedCount> => {
      const keys = [callsKey(call.turnId, call.messageId), COUNTS_KEY];
      const [found, counts] = await readValues<[StoredCalls, Counts]>(sdk, ctx, keys);
      const message = known(found);
      const state = stateOf(message, call);
      if (state.isCounted === true) return "counted";
      const changed = new Map(counts);
      const ofTool = changed.get(toolName) ?? 0;
      const all = [...changed.values()].reduce((sum, count) => sum + count, 0);
      if (all >= (calls ?? Number.POSITIVE_INFINITY)) return "calls";
      if (ofTool >= (callsOfTool ?? Number.POSITIVE_INFINITY)) return "tool";
      set(ctx, message, { ...state, isCounted: true });
      changed.set(toolName, ofTool + 1);
      ctx.set<Counts>(COUNTS_KEY, [...changed]);
      return "counted";
    },

    isCounted: reader(sdk, async (ctx: ObjectSharedContext, call: CallOfSession): Promise<boolean> => {
      const message = await ctx.get<StoredCalls>(callsKey(call.turnId, call.messageId));
      return message !== null && stateOf(message, call).isCounted === true;
    }),

    counts: reader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<Counts> => (await ctx.get<Counts>(COUNTS_KEY)) ?? [],
    ),

    claim: async (ctx: ObjectContext, call: CallOfSession): Promise<Claim> => {
      const { turnId, messageId, callId } = call;
      const message = known(await ctx.get<StoredCalls>(callsKey(turnId, messageId)));
      const before = stateOf(message, call);
      const state = claimState(before, call, before);
      if (state === "ended") {
        const execution = await ctx.get<ToolExecution>(executionKey(turnId, messageId, callId));
        return { state, execution: execution as ToolExecution };
      }
      if (state === "fresh") set(ctx, message, { ...before, isClaimed: true });
      return { state };
    },

    end: async (
      ctx: ObjectContext,
      { call, execution }: { call: CallOfSession; execution: ToolExecution },
    ): Promise<void> => {
      const { turnId, messageId, callId } = call;
      const message = await ctx.get<StoredCalls>(callsKey(turnId, messageId));
      if (message === null || stateOf(message, call).isEnded === true) return;
      // First, so that readers who see that the call has ended find it.
      ctx.set(executionKey(turnId, messageId, callId), execution);
      set(ctx, message, { ...stateOf(message, call), isEnded: true });
    },

    /** Returns the states of the calls of a message, and as many executions as one answer can have. */
    calls: reader(
      sdk,
      async (
        ctx: ObjectSharedContext,
        { turnId, messageId }: { turnId: string; messageId: string },
      ): Promise<readonly MessageCallRecord[]> => {
        const message = await ctx.get<StoredCalls>(callsKey(turnId, messageId));
        if (message === null) return [];
        const ended = message.states.filter(({ isEnded }) => isEnded === true).map(({ callId }) => callId);
        const keys = ended.map((callId) => executionKey(turnId, messageId, callId));
        const executions = await readValues<ToolExecution[]>(sdk, ctx, keys);
        let length = 0;
        return message.callIds.map((callId): MessageCallRecord => {
          const execution = executions[ended.indexOf(callId)] ?? undefined;
          if (execution === undefined) {
            const state = message.states.find((one) => one.callId === callId);
            return { callId, state: state?.isClaimed === true ? "begun" : "not-begun" };
          }
          length += JSON.stringify(execution).length;
          return { callId, state: "ended", ...(length <= MAX_LENGTH && { execution }) };
        });
      },
    ),

    execution: reader(
      sdk,
      async (
        ctx: ObjectSharedContext,
        { turnId, messageId, callId }: { turnId: string; messageId: string; callId: string },
      ): Promise<ToolExecution | undefined> =>
        (await ctx.get<ToolExecution>(executionKey(turnId, messageId, callId))) ?? undefined,
    ),
  };
}

function stateOf({ states }: StoredCalls, { callId, digest }: CallOfSession): StoredCallState {
  return states.find((state) => state.callId === callId) ?? { callId, digest };
}

function set(ctx: ObjectContext, message: StoredCalls, changed: StoredCallState): void {
  const unchanged = message.states.filter(({ callId }) => callId !== changed.callId);
  ctx.set<StoredCalls>(callsKey(message.turnId, message.messageId), {
    ...message,
    states: [...unchanged, changed],
  });
}
