// The canonical ABI of `sandgate:tool/guest` (wit/tool.wit), by hand: strings are UTF-8, as a pointer and a
// length in bytes. Each call has a fresh instance, so nothing is ever freed.

/** The cases of `error-code`. */
export namespace ErrorCode {
  export const invalidInput: u8 = 0;
  export const notFound: u8 = 1;
  export const unavailable: u8 = 2;
  export const internal: u8 = 3;
}

/** The host allocates the arguments with this: the entry module exports it as `cabi_realloc`. */
export function realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  return old == 0 ? heap.alloc(size) : heap.realloc(old, size);
}

/** An argument as a string. */
export function readString(pointer: usize, bytes: usize): string {
  return String.UTF8.decodeUnsafe(pointer, bytes);
}

// `result<json, tool-error>`: the case in the first byte, and from byte 4 on the JSON text, or the error code
// followed by the message.
const OK: u8 = 0;
const ERROR: u8 = 1;
const result = memory.data(16, 4);

/** The result `ok`, with a JSON text. */
export function ok(json: string): usize {
  store<u8>(result, OK);
  storeString(result + 4, json);
  return result;
}

/** The result `err`. */
export function error(code: u8, message: string): usize {
  store<u8>(result, ERROR);
  store<u8>(result + 4, code);
  storeString(result + 8, message);
  return result;
}

/** What a model is told of a tool. */
export class Definition {
  constructor(
    public name: string,
    public description: string,
    /** JSON text. */
    public inputSchema: string,
  ) {}
}

const DEFINITION_BYTES: usize = 24;

/** The result of `describe`: a list of records of three strings. */
export function definitions(all: Definition[]): usize {
  const list = heap.alloc(DEFINITION_BYTES * all.length);
  for (let i = 0; i < all.length; i++) {
    const at = list + DEFINITION_BYTES * i;
    storeString(at, all[i].name);
    storeString(at + 8, all[i].description);
    storeString(at + 16, all[i].inputSchema);
  }
  store<usize>(result, list);
  store<usize>(result + 4, all.length);
  return result;
}

function storeString(at: usize, text: string): void {
  const bytes = String.UTF8.encode(text);
  store<usize>(at, changetype<usize>(bytes));
  store<usize>(at + 4, bytes.byteLength);
}
