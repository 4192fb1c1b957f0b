import { type ToolFailureCode, toolFailureCode } from "../../../tool/tool-failure.ts";
import { DRIVER_NAME } from "../driver/driver.ts";

/** The most errors that are reported with one: its causes, and the errors of an `AggregateError`. */
const MAX_RELATED = 8;

/**
 * The longest text in which the driver can report a failure: four strings of 8,192 characters, and two of 2,048 and
 * short ones for each related error, all written as `\uXXXX`.
 */
const MAX_LENGTH: number = (4 * 8_192 + MAX_RELATED * (2 * 2_048 + 256)) * 6 + 64;

/** A guest's failure, as reported by the driver. Untrusted: the guest can make the driver report anything. */
export interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
  /** The `code` of the thrown object, if it is one that a tool can give. */
  readonly code?: ToolFailureCode;
  /** Whether the message can be shown to users: it is Sandgate's own, or its object has such a code. */
  readonly userVisible: boolean;
}

/** Parses the driver's `[name, message, stack, code, ...related]`. Anything else becomes a failure without a message. */
export function readGuestFailure(text: string): GuestFailure {
  const [name = "", message = "", stack = "", given = "", ...related] = parseStrings(text);
  const code = toolFailureCode(given);
  const detail = [`${name}: ${message}`, ...[stack, ...related].flatMap(guestLines)].join("\n");
  return { message, detail, code, userVisible: code === given };
}

/** Returns the lines of a stack without those of the driver, which do not help the tool's author. */
export function guestLines(stack: string): readonly string[] {
  return stack.split("\n").filter((line) => line.trim() !== "" && !line.includes(DRIVER_NAME));
}

function parseStrings(text: string): readonly string[] {
  if (text.length > MAX_LENGTH) return [];
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts)
      ? parts.slice(0, 4 + MAX_RELATED).map((part) => (typeof part === "string" ? part : ""))
      : [];
  } catch {
    return [];
  }
}
