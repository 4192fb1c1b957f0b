import type { ObjectContext, ObjectOptions, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Approval, StoredApproval } from "../../sessions/approvals.ts";
import type { Confirmation, Resolution } from "../../sessions/confirmations/confirmation.ts";
import type { LedgerRecord, SessionRecord } from "../../sessions/store/store.ts";
import type { RestateSdk, RestateService } from "../connection/worker.ts";
import {
  type ObjectHandlers,
  reader,
  readPrefix,
  readValues,
  severalHandler,
  wholeReader,
} from "./handlers.ts";
import {
  APPROVALS_OBJECT,
  CONFIRMATION_OBJECT,
  INDEX_OBJECT,
  LEDGER_OBJECT,
  PRINCIPAL_OBJECT,
  SESSION_OBJECT,
} from "./object-keys.ts";
import { callHandlers } from "./session/call-handlers.ts";
import { messageHandlers } from "./session/message-handlers.ts";
import { sessionConfirmationHandlers } from "./session/session-confirmations.ts";
import { sessionHandlers } from "./session/session-handlers.ts";
import type { StoredRecord } from "./session/session-state.ts";

/** The options of the objects of stores. A handler may say otherwise. */
const OBJECT_OPTIONS: ObjectOptions = {
  // Each operation reads few of the values that an object has.
  enableLazyState: true,
  // For how long an operation whose answer was lost can be sent again.
  idempotencyRetention: { minutes: 10 },
  journalRetention: 0,
};

/** Returns the virtual objects of the store of sessions, with further handlers of sessions. */
export function storeServices(sdk: RestateSdk, ofSessions: ObjectHandlers = {}): readonly RestateService[] {
  return [
    defineObject(sdk, SESSION_OBJECT, {
      ...sessionHandlers(sdk),
      ...messageHandlers(sdk),
      ...callHandlers(sdk),
      ...sessionConfirmationHandlers(sdk),
      ...ofSessions,
    }),
    // Its operations need all that it has, which is little: to get it at once saves 3 ms.
    defineObject(sdk, CONFIRMATION_OBJECT, confirmationHandlers(sdk), { enableLazyState: false }),
    defineObject(sdk, PRINCIPAL_OBJECT, principalHandlers()),
    defineObject(sdk, INDEX_OBJECT, indexHandlers(sdk)),
    defineObject(sdk, APPROVALS_OBJECT, approvalHandlers(sdk)),
    defineObject(sdk, LEDGER_OBJECT, ledgerHandlers(sdk)),
  ];
}

/**
 * Defines a virtual object of a store.
 *
 * @param options In addition to those of all objects of stores.
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

/**
 * Maximum number of open sessions of one principal, on all servers; those without a principal share this
 * number.
 */
const MAX_SESSIONS = 1_000;
const KEY = "sessions";

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

interface OrderedApproval extends StoredApproval {
  readonly place: number;
}

const PLACE_KEY = "place";
const APPROVAL_PREFIX = "approval/";

/** Before the id of an approval that was removed; the value is the id of its session. */
const REMOVED_PREFIX = "removed/";

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
      const [known, last, removed] = await readValues<[OrderedApproval, number, string]>(sdk, ctx, keys);
      if (known !== null || removed !== null) return known !== null;
      const place = Math.max(given, (last ?? 0) + 1);
      ctx.set(PLACE_KEY, place);
      ctx.set<OrderedApproval>(keyOf(approval.id), { approval, used: 0, place });
      return true;
    },

    has: reader(
      sdk,
      async (ctx: ObjectSharedContext, id: string): Promise<boolean> => (await ctx.get(keyOf(id))) !== null,
    ),

    /** Returns `false` if the approval is unknown or used up. */
    use: async (ctx: ObjectContext, id: string): Promise<boolean> => {
      const known = await ctx.get<OrderedApproval>(keyOf(id));
      if (known === null) return false;
      if (known.approval.calls !== undefined && known.used >= known.approval.calls) return false;
      ctx.set<OrderedApproval>(keyOf(id), { ...known, used: known.used + 1 });
      return true;
    },

    /** Returns `false` if the approval is unknown. */
    remove: async (ctx: ObjectContext, id: string): Promise<boolean> => {
      const known = await ctx.get<OrderedApproval>(keyOf(id));
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
        for (const { approval } of await readPrefix<OrderedApproval>(sdk, ctx, APPROVAL_PREFIX)) {
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
        [...(await readPrefix<OrderedApproval>(sdk, ctx, APPROVAL_PREFIX))]
          .sort((one, other) => one.place - other.place)
          .map(({ approval, used }) => ({ approval, used })),
    ),
  };
}

function keyOf(id: string): string {
  return `${APPROVAL_PREFIX}${id}`;
}

/** A confirmation, and the ids of the awakeables that are resolved with its resolution. */
interface StoredConfirmation {
  readonly inquiry: Confirmation;
  readonly awakeables: readonly string[];
}

const CONFIRMATION_KEY = "inquiry";
const RESOLUTION_KEY = "resolution";

/** The handlers of a confirmation. */
function confirmationHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    /**
     * Returns `false` if the confirmation is known, which stays as it is. Its awakeable is resolved anyway. Sessions call
     * it, so that they know their confirmations.
     */
    add: async (
      ctx: ObjectContext,
      { inquiry: confirmation, awakeable }: { inquiry: Confirmation; awakeable?: string },
    ): Promise<boolean> => {
      const [known, resolution] = await read(sdk, ctx);
      if (awakeable !== undefined && resolution !== null) ctx.resolveAwakeable(awakeable, resolution);
      const awakeables = [...(known?.awakeables ?? []), ...(awakeable === undefined ? [] : [awakeable])];
      if (known === null || resolution === null) {
        ctx.set<StoredConfirmation>(CONFIRMATION_KEY, {
          inquiry: known?.inquiry ?? confirmation,
          awakeables,
        });
      }
      return known === null;
    },

    /** Returns the resolution that won, which is the first one; nothing if the confirmation is unknown. */
    resolve: async (ctx: ObjectContext, resolution: Resolution): Promise<Resolution | undefined> => {
      const [known, first] = await read(sdk, ctx);
      if (known === null || first !== null) return first ?? undefined;
      ctx.set(RESOLUTION_KEY, resolution);
      for (const awakeable of known.awakeables) ctx.resolveAwakeable(awakeable, resolution);
      return resolution;
    },

    read: reader(sdk, async (ctx: ObjectSharedContext): Promise<StoredRecord | undefined> => {
      const [known, resolution] = await read(sdk, ctx);
      if (known === null) return undefined;
      return { inquiry: known.inquiry, ...(resolution !== null && { resolution }) };
    }),

    /** Removes the confirmation. What waits for its resolution continues as if it was cancelled. */
    remove: async (ctx: ObjectContext): Promise<void> => {
      const [known, resolution] = await read(sdk, ctx);
      if (known !== null && resolution === null) {
        const cancelled: Resolution = { decision: "cancelled", at: known.inquiry.askedAt };
        for (const awakeable of known.awakeables) ctx.resolveAwakeable(awakeable, cancelled);
      }
      ctx.clearAll();
    },
  };
}

function read(
  sdk: RestateSdk,
  ctx: ObjectSharedContext,
): Promise<[StoredConfirmation | null, Resolution | null]> {
  return readValues<[StoredConfirmation, Resolution]>(sdk, ctx, [CONFIRMATION_KEY, RESOLUTION_KEY]);
}

/** A session, and a number that says which of two was added first. */
export interface IndexedSession {
  readonly record: SessionRecord;
  readonly place: number;
}

const INDEX_PREFIX = "session/";

/** The handlers of a part of the index, which lists sessions. */
export function indexHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    put: async (ctx: ObjectContext, session: IndexedSession): Promise<void> =>
      ctx.set(indexKeyOf(session.record.id), session),

    remove: async (ctx: ObjectContext, sessionId: string): Promise<void> => ctx.clear(indexKeyOf(sessionId)),

    list: wholeReader(
      sdk,
      (ctx: ObjectSharedContext): Promise<readonly IndexedSession[]> => readPrefix(sdk, ctx, INDEX_PREFIX),
    ),

    /** Confirms that the objects can be called. */
    ping: reader(sdk, async (_: ObjectSharedContext): Promise<void> => {}),
  };
}

function indexKeyOf(sessionId: string): string {
  return `${INDEX_PREFIX}${sessionId}`;
}

/** The state of a ledger as JSON. */
export interface StoredLedger {
  readonly entries: readonly LedgerRecord[];
  /** `null` if calls may be missing up to now. */
  readonly missingUntil: number | null;
}

const MISSING_KEY = "missing";
const ENTRY_PREFIX = "entry/";

/** The handlers of the calls that conditions on earlier calls look back to. */
export function ledgerHandlers(sdk: RestateSdk): ObjectHandlers {
  return {
    put: async (ctx: ObjectContext, entry: LedgerRecord): Promise<void> =>
      ctx.set(ledgerKeyOf(entry.id), entry),

    remove: async (ctx: ObjectContext, id: string): Promise<void> => ctx.clear(ledgerKeyOf(id)),

    drop: async (ctx: ObjectContext, { id, endedAt }: { id: string; endedAt: number }): Promise<void> => {
      const until = await missingUntil(ctx);
      ctx.clear(ledgerKeyOf(id));
      if (until !== null) setMissing(ctx, Math.max(until, endedAt));
    },

    reset: async (
      ctx: ObjectContext,
      { missingUntil }: Pick<StoredLedger, "missingUntil">,
    ): Promise<void> => {
      ctx.clearAll();
      setMissing(ctx, missingUntil);
    },

    read: wholeReader(sdk, async (ctx: ObjectSharedContext): Promise<StoredLedger> => {
      const entries = await readPrefix<LedgerRecord>(sdk, ctx, ENTRY_PREFIX);
      return { entries, missingUntil: await missingUntil(ctx) };
    }),
  };
}

async function missingUntil(ctx: ObjectSharedContext): Promise<number | null> {
  const known = await ctx.get<{ readonly until: number | null }>(MISSING_KEY);
  return known === null ? 0 : known.until;
}

function setMissing(ctx: ObjectContext, until: number | null): void {
  ctx.set(MISSING_KEY, { until });
}

function ledgerKeyOf(id: string): string {
  return `${ENTRY_PREFIX}${id}`;
}
