// The canonical ABI of `sandgate:tool/guest` (wit/tool.wit), written by hand. Strings are UTF-8, passed as a pointer
// and a length in bytes. Each call runs in a fresh instance, so memory is never freed.

/** The cases of `error-code`. */
export namespace ErrorCode {
  export const invalidInput: u8 = 0;
  export const notFound: u8 = 1;
  export const unavailable: u8 = 2;
  export const internal: u8 = 3;
}

/** Allocates memory for the arguments. The entry module exports it to the host as `cabi_realloc`. */
export function realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  return old == 0 ? heap.alloc(size) : heap.realloc(old, size);
}

/** Reads an argument that is a string. */
export function readString(pointer: usize, bytes: usize): string {
  return String.UTF8.decodeUnsafe(pointer, bytes);
}

// `result<json, tool-error>`: the first byte is the case. The JSON text, or the error code followed by the message,
// starts at byte 4.
const OK: u8 = 0;
const ERROR: u8 = 1;
const result = memory.data(16, 4);

/** Stores the result `ok` with a JSON text. Returns its address. */
export function ok(json: string): usize {
  store<u8>(result, OK);
  storeString(result + 4, json);
  return result;
}

/** Stores the result `err`. Returns its address. */
export function error(code: u8, message: string): usize {
  store<u8>(result, ERROR);
  store<u8>(result + 4, code);
  storeString(result + 8, message);
  return result;
}

/** The definition of a tool, as a model sees it. */
export class Definition {
  constructor(
    public name: string,
    public description: string,
    /** A JSON Schema, as JSON text. */
    public inputSchema: string,
  ) {}
}

const DEFINITION_BYTES: usize = 24;

/** Stores the result of `describe`, a list of records of three strings. Returns its address. */
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
