import { ToolPreparationError } from "../../contract/sandbox.ts";

/**
 * Bytes of a function's code. V8 compiles it when it is first called, within the call, and cannot be interrupted: about
 * 90 ms a MiB. The largest function of a JavaScript engine has a third of this.
 */
const MAX_BODY_BYTES = 512 * 1_024;

/**
 * V8's compiler looks at all local variables at each branch. So many take it about a tenth of a second. Optimised
 * programs have a tenth of this.
 */
const MAX_LOCALS_AT_BRANCHES = 16 * 1_024 * 1_024;

/**
 * What V8 may take to optimise a function, as estimated, in bytes. It does so in threads of its own, which no limit of a
 * call covers, for up to four functions at a time. The largest function of a JavaScript engine takes half of this.
 */
const MAX_OPTIMISER_BYTES = 80 * 1_024 * 1_024;

/** @throws {ToolPreparationError} if a function has too much code. */
export function checkBodySize(index: number, bytes: number): void {
  if (bytes <= MAX_BODY_BYTES) return;
  throw new ToolPreparationError(
    `the function ${index} of a core module has ${bytes} bytes of code: at most ${MAX_BODY_BYTES} are allowed`,
  );
}

/**
 * @param branches How many instructions begin or end blocks, branch or call.
 * @throws {ToolPreparationError} if a function has too many local variables for its branches.
 */
export function checkLocals(index: number, locals: number, branches: number): void {
  if (locals * branches <= MAX_LOCALS_AT_BRANCHES) return;
  throw new ToolPreparationError(
    `the function ${index} of a core module has ${locals} local variables and ${branches} branches, which takes ` +
      "too long to compile. Optimise it",
  );
}

/**
 * @param bytes What V8 takes to optimise it, as estimated.
 * @throws {ToolPreparationError} if that is too much.
 */
export function checkOptimiserMemory(index: number, bytes: number): void {
  if (bytes <= MAX_OPTIMISER_BYTES) return;
  throw new ToolPreparationError(
    `the function ${index} of a core module has so many divisions, conversions, branches or calls that optimising it ` +
      `takes about ${Math.ceil(bytes / 2 ** 20)} MiB: at most ${MAX_OPTIMISER_BYTES / 2 ** 20} are allowed. Split it`,
  );
}
