import type { HandlerAddress } from "../connection/ingress.ts";

/** The names under which Restate knows the virtual objects of the stores. Operators see them. */
export const SESSION_OBJECT = "SandgateSession";

export const CONFIRMATION_OBJECT = "SandgateInquiry";

export const PRINCIPAL_OBJECT = "SandgatePrincipal";

export const INDEX_OBJECT = "SandgateIndex";

export const APPROVALS_OBJECT = "SandgateApprovals";

export const LEDGER_OBJECT = "SandgateLedger";

/** A virtual object. */
export type ObjectAddress = Required<Omit<HandlerAddress, "handler">>;

/** Over how many objects an index is spread, since each takes one change at a time. Never changes. */
const SHARDS = 8;

/** The longest id in UTF-16 units. A key is part of a URL, which ends at 64 KB, and up to nine of its bytes are one unit. */
const MAX_ID_LENGTH = 4_000;

/** Whether an object can have an id in its key. Nothing has any other one. */
export function canBeInKey(id: string): boolean {
  return id.length <= MAX_ID_LENGTH && id.isWellFormed();
}

/** Where the objects of a store are. Handlers receive it, so that they find the other objects of the same store. */
export interface StorePlace {
  /** What the keys of all its objects begin with. */
  readonly prefix: string;
}

export function sessionObject({ prefix }: StorePlace, sessionId: string): ObjectAddress {
  return { service: SESSION_OBJECT, key: `${prefix}${sessionId}` };
}

export function confirmationObject({ prefix }: StorePlace, confirmationId: string): ObjectAddress {
  return { service: CONFIRMATION_OBJECT, key: `${prefix}${confirmationId}` };
}

/** The sessions of a principal; those without one share an object. */
export function principalObject({ prefix }: StorePlace, principal: string | undefined): ObjectAddress {
  const key = principal === undefined ? "none" : `id/${principal}`;
  return { service: PRINCIPAL_OBJECT, key: `${prefix}${key}` };
}

export function approvalsObject({ prefix }: StorePlace): ObjectAddress {
  return { service: APPROVALS_OBJECT, key: `${prefix}all` };
}

export function ledgerObject({ prefix }: StorePlace): ObjectAddress {
  return { service: LEDGER_OBJECT, key: `${prefix}all` };
}

/** The part of the index that lists a session. */
export function indexObject({ prefix }: StorePlace, sessionId: string): ObjectAddress {
  return { service: INDEX_OBJECT, key: `${prefix}${shardOf(sessionId)}` };
}

/** All parts of the index. */
export function indexObjects({ prefix }: StorePlace): readonly ObjectAddress[] {
  return shards().map((shard) => ({ service: INDEX_OBJECT, key: `${prefix}${shard}` }));
}

/** Returns the number of the object that has a text. */
export function shardOf(text: string): number {
  let hash = 0;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return (hash >>> 0) % SHARDS;
}

export function shards(): readonly number[] {
  return Array.from({ length: SHARDS }, (_, shard) => shard);
}
