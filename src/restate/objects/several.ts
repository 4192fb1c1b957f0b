import type { ObjectContext } from "@restatedev/restate-sdk";
import type { RestateSdk } from "../connection/sdk.ts";
import type { ObjectHandlers } from "./object-handlers.ts";

/** An operation on an object. */
export interface Operation {
  readonly handler: string;
  readonly input?: unknown;
}

/** What became of an operation that was run together with others. */
export type OperationResult =
  | { readonly result?: unknown }
  | { readonly refused: string /** Of the error of its handler. */; readonly status: number };

/** The name of the handler that runs several operations on its object. */
export const SEVERAL = "several";

/** The length of the JSON of results after which no further operation is run. */
const MAX_LENGTH = 8_000_000;

/**
 * Returns a handler that runs operations one after the other. It returns fewer results than there are operations if the
 * results become long; then the others were not run.
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
