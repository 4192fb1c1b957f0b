import type { ObjectSharedContext } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";

type Reader<Input, Result> = (ctx: ObjectSharedContext, input: Input) => Promise<Result>;

/** Nothing is lost if one whose answer was lost runs again, so that its answer, which may be long, need not be stored. */
const IDEMPOTENCY_RETENTION = { seconds: 1 };

/** Makes a handler that reads few values of an object, while others change it. */
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
