import type { Context, InvocationPromise, Serde } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";
import type { ObjectAddress } from "./object-keys.ts";

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
