/** A component handed more bytes across its border at once than it may. */
export class LiftBudgetError extends Error {
  override readonly name = "LiftBudgetError";
}

/**
 * Bytes that the component under way may still copy out of its memories in this crossing. A list of strings
 * that all point to the same bytes is small inside and endless outside, and nothing else counts it.
 */
let leftBytes = Number.POSITIVE_INFINITY;
let allowedBytes = Number.POSITIVE_INFINITY;

/** Sets what each crossing of the border may copy out. */
export function allowLifting(bytes: number): void {
  allowedBytes = bytes;
  leftBytes = bytes;
}

/** A crossing has ended: what it copied is handed over, and may be collected. */
export function endCrossing(): void {
  leftBytes = allowedBytes;
}

function charge(bytes: number): void {
  leftBytes -= bytes;
  if (leftBytes < 0) throw new LiftBudgetError();
}

/** The `TextDecoder` of generated code, which lifts each string with it. */
export class BudgetedTextDecoder extends TextDecoder {
  override decode(input?: Parameters<TextDecoder["decode"]>[0], options?: { stream?: boolean }): string {
    charge(input?.byteLength ?? 0);
    return super.decode(input, options);
  }
}

/**
 * Makes every copy out of an `ArrayBuffer` count, as generated code makes one of each list of numbers. For
 * threads that run nothing else.
 */
export function budgetSlices(): void {
  const { slice } = ArrayBuffer.prototype;
  ArrayBuffer.prototype.slice = function budgetedSlice(begin, end): ArrayBuffer {
    charge(Math.max((end ?? this.byteLength) - (begin ?? 0), 0));
    return slice.call(this, begin, end);
  };
}
