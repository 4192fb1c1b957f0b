/** What a component handed over, or asked for, breaks the canonical ABI. Ends the call, as a trap does. */
export class AbiError extends Error {
  override readonly name = "AbiError";
}
