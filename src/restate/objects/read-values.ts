import type { ObjectSharedContext, RestatePromise } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";

/** Reads several values of an object at once. With `Promise.all`, an attempt fails, and is made again later. */
export async function readValues<Values extends readonly unknown[]>(
  sdk: RestateSdk,
  ctx: ObjectSharedContext,
  keys: readonly string[],
): Promise<{ [Index in keyof Values]: Values[Index] | null }> {
  // The type of `get` does not say that it returns one of the promises of Restate.
  const values = keys.map((key) => ctx.get(key) as RestatePromise<unknown>);
  const read = values.length === 0 ? [] : await sdk.RestatePromise.all(values);
  return read as { [Index in keyof Values]: Values[Index] | null };
}

/** Reads the values of an object whose keys have a prefix. */
export async function readPrefix<Value>(
  sdk: RestateSdk,
  ctx: ObjectSharedContext,
  prefix: string,
): Promise<readonly Value[]> {
  const keys = (await ctx.stateKeys()).filter((key) => key.startsWith(prefix));
  const values = await readValues<Value[]>(sdk, ctx, keys);
  return values.filter((value) => value !== null);
}
