import type { ObjectOptions } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";
import type { RestateService } from "../connection/worker.ts";
import type { ObjectHandlers } from "./object-handlers.ts";
import { severalHandler } from "./several.ts";

/** The options of the objects of stores. A handler may say otherwise. */
const OBJECT_OPTIONS: ObjectOptions = {
  // Each operation reads few of the values that an object has.
  enableLazyState: true,
  // For how long an operation whose answer was lost can be sent again.
  idempotencyRetention: { minutes: 10 },
  journalRetention: 0,
};

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
