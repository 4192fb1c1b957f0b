import type { SessionRecord } from "../../sessions/store/records.ts";
import type { IndexedSession } from "../objects/index-handlers.ts";
import { indexObjects, type StorePlace, sessionObject } from "../objects/object-keys.ts";
import type { WaitingInSession } from "../objects/session/session-handlers.ts";
import { mapSome } from "./map-some.ts";
import type { StoreClient } from "./store-client.ts";

/** Returns all sessions of a store, in the order in which they were added. */
export async function readSessions(
  client: StoreClient,
  store: StorePlace,
): Promise<readonly SessionRecord[]> {
  const parts = await Promise.all(
    indexObjects(store).map((object) => client.read<readonly IndexedSession[]>(object, "list")),
  );
  return parts
    .flat()
    .sort(byPlace)
    .map(({ record }) => record);
}

/** Returns what waits in all sessions of a store, in the order in which it was added. */
export async function readWaiting(client: StoreClient, store: StorePlace): Promise<WaitingInSession> {
  const sessions = await readSessions(client, store);
  const waiting = await mapSome(sessions, ({ id }) =>
    client.read<WaitingInSession>(sessionObject(store, id), "waiting"),
  );
  return {
    messages: waiting.flatMap(({ messages }) => messages).sort(byPlace),
    inquiries: waiting.flatMap(({ inquiries }) => inquiries).sort(byPlace),
  };
}

function byPlace(one: { readonly place: number }, other: { readonly place: number }): number {
  return one.place - other.place;
}
