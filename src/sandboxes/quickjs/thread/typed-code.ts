import { stripProgramTypes, TypeStrippingError } from "./type-stripper.ts";

/** The name of the code in errors. */
const NAME = "program.ts";

/** The parser reads modules, in which nothing can return: so the code is made a function, on its own lines. */
const BEFORE = "(async () => {";
const AFTER = "\n})";

/**
 * Replaces the types in the body of an asynchronous function with blanks, which keeps every line and column.
 *
 * @throws {TypeStrippingError} if that is not possible. The message has no position in its first line: it is beside it.
 */
export function stripCodeTypes(code: string): string {
  const sources = { [NAME]: BEFORE + code + AFTER };
  try {
    const stripped = stripProgramTypes({ entry: NAME, exportName: "", sources }).sources[NAME] ?? "";
    return stripped.slice(BEFORE.length, -AFTER.length);
  } catch (error) {
    if (!(error instanceof TypeStrippingError)) throw error;
    const [, line = "1", column = "1", message = error.message] =
      /^program\.ts:(\d+)(?::(\d+))?: (.*)$/s.exec(error.message) ?? [];
    const shift = line === "1" ? BEFORE.length : 0;
    const position = `${line}:${Math.max(Number(column) - shift, 1)}`;
    throw new TypeStrippingError(NAME, `${position}: ${message.replace(/^program\.ts: /, "")}`);
  }
}
