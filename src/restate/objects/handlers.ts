import type {
  Context,
  InvocationPromise,
  ObjectContext,
  ObjectSharedContext,
  RestatePromise,
  Serde,
} from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/worker.ts";
import type { ObjectAddress } from "./object-keys.ts";

/** Handlers of a virtual object, by name. */
// biome-ignore lint/suspicious/noExplicitAny: a handler takes any context and input
export type ObjectHandlers = Readonly<Record<string, (ctx: any, input: any) => Promise<unknown>>>;

type Reader<Input, Result> = (ctx: ObjectSharedContext, input: Input) => Promise<Result>;

/** A reader can run again if its answer was lost, so that the answer, which may be long, need not be stored. */
const IDEMPOTENCY_RETENTION = { seconds: 1 };

/** Makes a handler that reads few values of an object, concurrently with handlers that change it. */
export function reader<Input, Result>(sdk: RestateSdk, read: Reader<Input, Result>): Reader<Input, Result> {
  const options = { idempotencyRetention: IDEMPOTENCY_RETENTION };
  return sdk.handlers.object.shared(options, read) as Reader<Input, Result>;
}

/** Makes a handler that reads everything that an object has, which it gets at once. */
export function wholeReader<Input, Result>(
  sdk: RestateSdk,
  read: Reader<Input, Result>,
): Reader<Input, Result> {
  const options = { idempotencyRetention: IDEMPOTENCY_RETENTION, enableLazyState: false };
  return sdk.handlers.object.shared(options, read) as Reader<Input, Result>;
}

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

/** Calls a handler of another object, whose result is awaited. */
export function callObject<Result>(
  sdk: RestateSdk,
  ctx: Context,
  { service, key }: ObjectAddress,
  handler: string,
  input?: unknown,
): InvocationPromise<Result> {
  return ctx.genericCall<unknown, Result>({
    service,
    key,
    method: handler,
    parameter: input,
    inputSerde: sdk.serde.json as Serde<unknown>,
    outputSerde: sdk.serde.json as Serde<Result>,
  });
}

/** Status of the errors of handlers that refuse what they are asked for. */
export const REFUSED = 422;

/** Status of the error of a session whose principal has too many. */
export const TOO_MANY = 409;

/** An error that is passed on to the caller, instead of being tried again. */
export function refusal(sdk: RestateSdk, message: string): Error {
  return new sdk.TerminalError(message, { errorCode: REFUSED });
}

/** An operation on an object. */
export interface Operation {
  readonly handler: string;
  readonly input?: unknown;
}

/** The result of one of several operations that were run together. */
export type OperationResult =
  | { readonly result?: unknown }
  | { readonly refused: string /** Of the error of its handler. */; readonly status: number };

/** The name of the handler that runs several operations on its object. */
export const SEVERAL = "several";

/** The length of the JSON of results after which no further operation is run. */
const MAX_LENGTH = 8_000_000;

/**
 * Returns a handler that runs operations one after the other. It returns fewer results than there are operations if the
 * results become long; the remaining operations were not run then.
 */
export function severalHandler(sdk: RestateSdk, handlers: ObjectHandlers): ObjectHandlers {
  return {
    [SEVERAL]: async (ctx: ObjectContext, operations: readonly Operation[]) => {
      const results: OperationResult[] = [];
      let length = 0;
      for (const { handler, input } of operations) {
        if (length > MAX_LENGTH) break;
        const outcome = await outcomeOf(sdk, () => (handlers[handler] as Handler)(ctx, input));
        length += JSON.stringify(outcome).length;
        results.push(outcome);
      }
      return results;
    },
  };
}

type Handler = ObjectHandlers[string];

async function outcomeOf(sdk: RestateSdk, run: () => Promise<unknown>): Promise<OperationResult> {
  try {
    return { result: await run() };
  } catch (error) {
    if (error instanceof sdk.TerminalError) return { refused: error.message, status: error.code };
    throw error;
  }
}
