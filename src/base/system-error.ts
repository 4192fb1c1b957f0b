import { getSystemErrorMap } from "node:util";

/** Errors of name look-ups, which are not in Node's map. */
const LOOK_UPS: Readonly<Record<string, string>> = {
  ENOTFOUND: "host name not found",
  ENODATA: "no such DNS record",
  ETIMEOUT: "DNS look-up timed out",
};

/** An error's causes are searched up to this depth: a chain may be circular. */
const MAX_CAUSES = 3;

let texts: Map<string, string> | undefined;

/** Returns what an error code of the operating system means, such as `ENOENT`; `undefined` for any other text. */
export function systemErrorText(code: string): string | undefined {
  texts ??= new Map([...getSystemErrorMap().values()]);
  return texts.get(code) ?? (Object.hasOwn(LOOK_UPS, code) ? LOOK_UPS[code] : undefined);
}

/**
 * Returns the code of the operating system that an error has, or one of its causes, as an error of `fetch` does; `undefined` if
 * there is none. May throw what a getter or a proxy trap of the value throws.
 */
export function systemErrorCode(thrown: unknown): string | undefined {
  let error: unknown = thrown;
  for (let depth = 0; depth <= MAX_CAUSES && error instanceof Error; depth++) {
    const code: unknown = Reflect.get(error, "code");
    if (typeof code === "string" && systemErrorText(code) !== undefined) return code;
    error = error.cause;
  }
  return undefined;
}
