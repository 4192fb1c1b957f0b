import type { Context, ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Confirmation, NewConfirmation, Resolution } from "../../sessions/confirmations/confirmation.ts";
import {
  isFull,
  type ListedConfirmation,
  type ListOfOpen,
  listed,
} from "../../sessions/confirmations/shared-confirmations.ts";
import { newId } from "../../sessions/ids.ts";
import type { RestateSdk } from "../connection/worker.ts";
import { callObject, type ObjectHandlers, REFUSED } from "../objects/handlers.ts";
import {
  confirmationObject,
  type ObjectAddress,
  type StorePlace,
  sessionObject,
} from "../objects/object-keys.ts";
import type { StoreClient } from "../store/store-client.ts";

/** The name of the object that lists the confirmations of all sessions that are open. */
export const OPEN_CONFIRMATIONS_OBJECT = "SandgateOpenInquiries";

const KEY = "open";

/** Where a durable call asks people. */
export interface ConfirmationPlace {
  readonly sdk: RestateSdk;
  readonly store: StorePlace;
  /** The longest time for which a confirmation is open, in ms. */
  readonly timeoutMs: number;
  /** The time as Restate has it, in ms since the epoch. */
  readonly now: () => number;
}

/** Opens a confirmation whose resolution completes an awakeable. Returns `undefined` if too many are open. */
export async function openConfirmation(
  { sdk, store, timeoutMs: longest, now: clock }: ConfirmationPlace,
  ctx: Context,
  question: NewConfirmation,
  { timeoutMs, awakeable }: { readonly timeoutMs: number; readonly awakeable: string },
): Promise<Confirmation | undefined> {
  const { id, askedAt } = await ctx.run("inquiry", () => {
    const now = clock();
    return { id: newId(now), askedAt: now };
  });
  const confirmation: Confirmation = {
    ...question,
    id,
    askedAt,
    expiresAt: askedAt + Math.min(timeoutMs, longest),
  };
  const session = sessionObject(store, confirmation.sessionId);
  // First, so that no confirmation is open that is not listed.
  if (!(await callObject<boolean>(sdk, ctx, openConfirmationsObject(store), "put", listed(confirmation))))
    return undefined;
  try {
    await callObject(sdk, ctx, session, "addInquiry", {
      store,
      inquiry: confirmation,
      place: askedAt * 1_000,
      awakeable,
    });
  } catch (error) {
    if (!(error instanceof sdk.TerminalError && error.code === REFUSED)) throw error;
    // The session was closed meanwhile, or the turn cancelled.
    ctx.resolveAwakeable(awakeable, { decision: "cancelled", at: askedAt } satisfies Resolution);
  }
  return confirmation;
}

/** Takes a confirmation that was resolved off the list, unless the answer did. */
export async function unlistConfirmation(
  { sdk, store }: ConfirmationPlace,
  ctx: Context,
  { id }: Confirmation,
): Promise<void> {
  await callObject(sdk, ctx, openConfirmationsObject(store), "remove", [id]);
}

/** Ends a confirmation that was not answered in time. Returns the resolution that was first. */
export async function expireConfirmation(
  { sdk, store }: ConfirmationPlace,
  ctx: Context,
  { id, expiresAt }: Confirmation,
): Promise<Resolution> {
  const timeout: Resolution = { decision: "timeout", at: expiresAt };
  const first = await callObject<Resolution | undefined>(
    sdk,
    ctx,
    confirmationObject(store, id),
    "resolve",
    timeout,
  );
  await callObject(sdk, ctx, openConfirmationsObject(store), "remove", [id]);
  return first ?? timeout;
}

/** The one object of a store that lists open confirmations. */
export function openConfirmationsObject({ prefix }: StorePlace): ObjectAddress {
  return { service: OPEN_CONFIRMATIONS_OBJECT, key: `${prefix}all` };
}

/** The handlers of the list of open confirmations. */
export function openConfirmationHandlers(sdk: RestateSdk): ObjectHandlers {
  const { shared } = sdk.handlers.object;
  const read = async (ctx: ObjectSharedContext): Promise<readonly ListedConfirmation[]> =>
    (await ctx.get<readonly ListedConfirmation[]>(KEY)) ?? [];
  return {
    /** Returns `false` if too many confirmations are open. */
    put: async (ctx: ObjectContext, confirmation: ListedConfirmation): Promise<boolean> => {
      const open = await read(ctx);
      if (open.some(({ id }) => id === confirmation.id)) return true;
      if (isFull(open, confirmation)) return false;
      ctx.set(KEY, [...open, confirmation]);
      return true;
    },

    remove: async (ctx: ObjectContext, ids: readonly string[]): Promise<void> => {
      const open = await read(ctx);
      const left = open.filter(({ id }) => !ids.includes(id));
      if (left.length < open.length) ctx.set(KEY, left);
    },

    list: shared(read),
  };
}

/** Lists the confirmations of all processes that are open. */
export class OpenConfirmationList implements ListOfOpen {
  readonly #client: StoreClient;
  readonly #place: StorePlace;

  /** @param client That of the store: the list is read each second, so that it knows at any time whether Restate answers. */
  constructor(client: StoreClient, place: StorePlace) {
    this.#client = client;
    this.#place = place;
  }

  /** Returns `false` if too many confirmations are open. */
  put(confirmation: ListedConfirmation): Promise<boolean> {
    return this.#client.write(openConfirmationsObject(this.#place), "put", confirmation);
  }

  remove(ids: readonly string[]): Promise<void> {
    return this.#client.write(openConfirmationsObject(this.#place), "remove", ids);
  }

  list(): Promise<readonly ListedConfirmation[]> {
    return this.#client.read(openConfirmationsObject(this.#place), "list");
  }
}
