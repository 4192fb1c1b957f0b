import { type ObjectAddress, type StorePlace, shardOf, shards } from "../objects/object-keys.ts";

/** The names under which Restate knows the virtual objects of suspended programs. Operators see them. */
export const PROGRAM_OBJECT = "SandgateProgram";
export const TEMPLATE_OBJECT = "SandgateTemplate";
export const PROGRAM_INDEX_OBJECT = "SandgateProgramIndex";

export function programObject({ prefix }: StorePlace, id: string): ObjectAddress {
  return { service: PROGRAM_OBJECT, key: `${prefix}${id}` };
}

export function templateObject({ prefix }: StorePlace, digest: string): ObjectAddress {
  return { service: TEMPLATE_OBJECT, key: `${prefix}${digest}` };
}

/** The part of the index that lists the programs of a session, or a template. */
export function programIndexObject({ prefix }: StorePlace, sessionOrTemplate: string): ObjectAddress {
  return { service: PROGRAM_INDEX_OBJECT, key: `${prefix}${shardOf(sessionOrTemplate)}` };
}

/** All parts of the index. */
export function programIndexObjects({ prefix }: StorePlace): readonly ObjectAddress[] {
  return shards().map((shard) => ({ service: PROGRAM_INDEX_OBJECT, key: `${prefix}${shard}` }));
}
