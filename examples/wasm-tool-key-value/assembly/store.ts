// `sandgate:tool/key-value` in the canonical ABI. A result is written to 16 bytes that the caller provides: byte 0 says
// whether it is an error, whose code is at byte 4 and whose message is at byte 8.
const result = memory.data(16, 4);

@external("sandgate:tool/key-value@0.1.0", "get")
declare function hostGet(store: usize, storeBytes: usize, key: usize, keyBytes: usize, result: usize): void;

@external("sandgate:tool/key-value@0.1.0", "set")
declare function hostSet(
  store: usize,
  storeBytes: usize,
  key: usize,
  keyBytes: usize,
  value: usize,
  valueBytes: usize,
  result: usize,
): void;

/** A store that the grant of the call names. */
export class Store {
  /** Why the last operation failed; empty if it did not. */
  problem: string = "";
  private name: ArrayBuffer;

  constructor(name: string) {
    this.name = String.UTF8.encode(name);
  }

  /** Returns the text of a key; `null` if there is none, or if it cannot be read. */
  get(key: string): string | null {
    const bytes = String.UTF8.encode(key);
    const name = changetype<usize>(this.name);
    hostGet(name, this.name.byteLength, changetype<usize>(bytes), bytes.byteLength, result);
    if (this.failed()) return null;
    // An option: its case, and a list.
    if (load<u8>(result + 4) == 0) return null;
    return String.UTF8.decodeUnsafe(load<usize>(result + 8), load<usize>(result + 12));
  }

  /** Sets the text of a key. Returns whether it is stored. */
  set(key: string, value: string): bool {
    const keyBytes = String.UTF8.encode(key);
    const bytes = String.UTF8.encode(value);
    hostSet(
      changetype<usize>(this.name),
      this.name.byteLength,
      changetype<usize>(keyBytes),
      keyBytes.byteLength,
      changetype<usize>(bytes),
      bytes.byteLength,
      result,
    );
    return !this.failed();
  }

  private failed(): bool {
    const isError = load<u8>(result) != 0;
    this.problem = isError ? String.UTF8.decodeUnsafe(load<usize>(result + 8), load<usize>(result + 12)) : "";
    return isError;
  }
}
