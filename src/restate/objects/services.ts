import type { ObjectContext, ObjectOptions, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Approval, StoredApproval } from "../../sessions/approvals.ts";
import { MAX_FORGOTTEN_TURNS, type MessageRecord } from "../../sessions/store/store.ts";
import type { RestateSdk } from "../connection/sdk.ts";
import type { RestateService } from "../connection/worker.ts";
import { callObject } from "./call-object.ts";
import { indexHandlers } from "./index-handlers.ts";
import { inquiryHandlers } from "./inquiry-handlers.ts";
import { ledgerHandlers } from "./ledger-handlers.ts";
import type { ObjectHandlers } from "./object-handlers.ts";
import {
  APPROVALS_OBJECT,
  INDEX_OBJECT,
  INQUIRY_OBJECT,
  inquiryObject,
  LEDGER_OBJECT,
  PRINCIPAL_OBJECT,
  SESSION_OBJECT,
  type StorePlace,
} from "./object-keys.ts";
import { readPrefix, readValues } from "./read-values.ts";
import { reader, wholeReader } from "./readers.ts";
import { askingHandlers } from "./session/asking-handlers.ts";
import { callHandlers } from "./session/call-handlers.ts";
import { keepMessage } from "./session/keep-message.ts";
import { sessionHandlers } from "./session/session-handlers.ts";
import {
  callsKey,
  executionKey,
  FORGOTTEN_COUNT_KEY,
  forgottenKey,
  forgottenPlaceKey,
  HEAD_KEY,
  messageKey,
  type StoredCalls,
  type StoredHead,
  type StoredTurn,
  TURN_PREFIX,
  turnKey,
} from "./session/session-state.ts";
import { severalHandler } from "./several.ts";

/** The options of the objects of stores. A handler may say otherwise. */
const OBJECT_OPTIONS: ObjectOptions = {
  // Each operation reads few of the values that an object has.
  enableLazyState: true,
  // For how long an operation whose answer was lost can be sent again.
  idempotencyRetention: { minutes: 10 },
  journalRetention: 0,
};

interface KeptApproval extends StoredApproval {
  readonly place: number;
}

const PLACE_KEY = "place";

const APPROVAL_PREFIX = "approval/";

/** Before the id of an approval that was removed; the value is the id of its session. */
const REMOVED_PREFIX = "removed/";

/** The most open sessions of one principal, on all servers; those without a principal share this number. */
const MAX_SESSIONS = 1_000;

const KEY = "sessions";

/** Returns the virtual objects of the store of sessions, with further handlers of sessions. */
export function storeServices(sdk: RestateSdk, ofSessions: ObjectHandlers = {}): readonly RestateService[] {
  return [
    defineObject(sdk, SESSION_OBJECT, {
      ...sessionHandlers(sdk),
      ...messageHandlers(sdk),
      ...callHandlers(sdk),
      ...askingHandlers(sdk),
      ...ofSessions,
    }),
    // Its operations need all that it has, which is little: to get it at once saves 3 ms.
    defineObject(sdk, INQUIRY_OBJECT, inquiryHandlers(sdk), { enableLazyState: false }),
    defineObject(sdk, PRINCIPAL_OBJECT, principalHandlers()),
    defineObject(sdk, INDEX_OBJECT, indexHandlers(sdk)),
    defineObject(sdk, APPROVALS_OBJECT, approvalHandlers(sdk)),
    defineObject(sdk, LEDGER_OBJECT, ledgerHandlers(sdk)),
  ];
}

/** The handlers of a principal: which sessions it has open. */
function principalHandlers(): ObjectHandlers {
  const read = async (ctx: ObjectContext): Promise<readonly string[]> => (await ctx.get<string[]>(KEY)) ?? [];
  return {
    /** Returns `false` if the principal has as many sessions as it may. */
    add: async (ctx: ObjectContext, sessionId: string): Promise<boolean> => {
      const sessions = await read(ctx);
      if (sessions.includes(sessionId)) return true;
      if (sessions.length >= MAX_SESSIONS) return false;
      ctx.set(KEY, [...sessions, sessionId]);
      return true;
    },

    remove: async (ctx: ObjectContext, sessionId: string): Promise<void> => {
      const left = (await read(ctx)).filter((id) => id !== sessionId);
      if (left.length > 0) ctx.set(KEY, left);
      else ctx.clear(KEY);
    },
  };
}

/** The handlers of the approvals of all sessions and workspaces. */
function approvalHandlers(sdk: RestateSdk): ObjectHandlers {
  const { exclusive } = sdk.handlers.object;
  return {
    /** Returns `false` if the approval was removed before. */
    add: async (
      ctx: ObjectContext,
      { approval, place: given }: { approval: Approval; place: number },
    ): Promise<boolean> => {
      const keys = [keyOf(approval.id), PLACE_KEY, REMOVED_PREFIX + approval.id];
      const [known, last, removed] = await readValues<[KeptApproval, number, string]>(sdk, ctx, keys);
      if (known !== null || removed !== null) return known !== null;
      const place = Math.max(given, (last ?? 0) + 1);
      ctx.set(PLACE_KEY, place);
      ctx.set<KeptApproval>(keyOf(approval.id), { approval, used: 0, place });
      return true;
    },

    has: reader(
      sdk,
      async (ctx: ObjectSharedContext, id: string): Promise<boolean> => (await ctx.get(keyOf(id))) !== null,
    ),

    /** Returns `false` if the approval is unknown or used up. */
    use: async (ctx: ObjectContext, id: string): Promise<boolean> => {
      const known = await ctx.get<KeptApproval>(keyOf(id));
      if (known === null) return false;
      if (known.approval.calls !== undefined && known.used >= known.approval.calls) return false;
      ctx.set<KeptApproval>(keyOf(id), { ...known, used: known.used + 1 });
      return true;
    },

    /** Returns `false` if the approval is unknown. */
    remove: async (ctx: ObjectContext, id: string): Promise<boolean> => {
      const known = await ctx.get<KeptApproval>(keyOf(id));
      if (known === null) return false;
      ctx.clear(keyOf(id));
      // A call that was not claimed yet when its process died adds it again.
      ctx.set(REMOVED_PREFIX + id, known.approval.sessionId);
      return true;
    },

    /** Removes the approvals of a session, except those of its workspace. */
    removeSession: exclusive(
      { enableLazyState: false },
      async (ctx: ObjectContext, sessionId: string): Promise<void> => {
        for (const { approval } of await readPrefix<KeptApproval>(sdk, ctx, APPROVAL_PREFIX)) {
          if (approval.sessionId === sessionId && approval.for !== "workspace") ctx.clear(keyOf(approval.id));
        }
        const removed = (await ctx.stateKeys()).filter((key) => key.startsWith(REMOVED_PREFIX));
        const sessions = await readValues<readonly string[]>(sdk, ctx, removed);
        for (const [index, key] of removed.entries()) if (sessions[index] === sessionId) ctx.clear(key);
      },
    ),

    list: wholeReader(
      sdk,
      async (ctx: ObjectSharedContext): Promise<readonly StoredApproval[]> =>
        [...(await readPrefix<KeptApproval>(sdk, ctx, APPROVAL_PREFIX))]
          .sort((one, other) => one.place - other.place)
          .map(({ approval, used }) => ({ approval, used })),
    ),
  };
}

function keyOf(id: string): string {
  return `${APPROVAL_PREFIX}${id}`;
}

/** The handlers of the turns of a session, and of their messages. */
function messageHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /** Returns the message that is known by this id; nothing if it is new. */
    addMessage: async (
      ctx: ObjectContext,
      { message, place: given }: { message: MessageRecord; place: number },
    ): Promise<MessageRecord | "forgotten" | undefined> => {
      const kept = await keepMessage(sdk, ctx, { message, place: given });
      if (kept.known === undefined) ctx.set<StoredHead>(HEAD_KEY, kept.head);
      return kept.known;
    },

    messages: reader(
      sdk,
      async (ctx: ObjectSharedContext, turnId: string): Promise<readonly MessageRecord[]> => {
        const { messageIds = [] } = (await ctx.get<StoredTurn>(turnKey(turnId))) ?? {};
        const messages = await readValues<MessageRecord[]>(
          ...([sdk, ctx, messageIds.map((id) => messageKey(turnId, id))] as const),
        );
        return messages.filter((message) => message !== null);
      },
    ),

    turnIds: reader(sdk, async (ctx: ObjectSharedContext): Promise<readonly string[]> => {
      const turns = await readPrefix<StoredTurn>(sdk, ctx, TURN_PREFIX);
      return turns
        .filter(({ messageIds }) => messageIds.length > 0)
        .sort((one, other) => one.place - other.place)
        .map(({ turnId }) => turnId);
    }),

    removeTurn: async (
      ctx: ObjectContext,
      { store, turnId }: { store: StorePlace; turnId: string },
    ): Promise<void> => {
      const turn = await ctx.get<StoredTurn>(turnKey(turnId));
      if (turn === null) return;
      const calls = await readValues<StoredCalls[]>(
        ...([sdk, ctx, turn.messageIds.map((messageId) => callsKey(turnId, messageId))] as const),
      );
      if (turn.inquiries.length > 0) {
        await sdk.RestatePromise.all(
          turn.inquiries.map(({ id }) => callObject(sdk, ctx, inquiryObject(store, id), "remove")),
        );
      }
      for (const [index, messageId] of turn.messageIds.entries()) {
        for (const { callId, isEnded } of calls[index]?.states ?? []) {
          if (isEnded === true) ctx.clear(executionKey(turnId, messageId, callId));
        }
        ctx.clear(messageKey(turnId, messageId));
        ctx.clear(callsKey(turnId, messageId));
      }
      ctx.clear(turnKey(turnId));
      if (turn.messageIds.length > 0) await forget(ctx, turnId);
    },

    isForgotten: reader(
      sdk,
      async (ctx: ObjectSharedContext, turnId: string): Promise<boolean> =>
        (await ctx.get(forgottenKey(turnId))) !== null,
    ),
  };
}

/** Remembers that a turn was there. Its number takes the place of the one that is too old by now. */
async function forget(ctx: ObjectContext, turnId: string): Promise<void> {
  const number = (await ctx.get<number>(FORGOTTEN_COUNT_KEY)) ?? 0;
  const placeKey = forgottenPlaceKey(number, MAX_FORGOTTEN_TURNS);
  const oldest = await ctx.get<string>(placeKey);
  if (oldest !== null) {
    const itsNumber = await ctx.get<number>(forgottenKey(oldest));
    // It may have been there again, and been removed again later.
    if (itsNumber === number - MAX_FORGOTTEN_TURNS) ctx.clear(forgottenKey(oldest));
  }
  ctx.set(FORGOTTEN_COUNT_KEY, number + 1);
  ctx.set(placeKey, turnId);
  ctx.set(forgottenKey(turnId), number);
}

/**
 * Defines a virtual object of a store.
 *
 * @param options Others than those of all objects of stores.
 */
export function defineObject(
  sdk: RestateSdk,
  name: string,
  handlers: ObjectHandlers,
  options: ObjectOptions = {},
): RestateService {
  const all = { ...handlers, ...severalHandler(sdk, handlers) };
  return sdk.object({ name, handlers: all, options: { ...OBJECT_OPTIONS, ...options } }) as RestateService;
}
