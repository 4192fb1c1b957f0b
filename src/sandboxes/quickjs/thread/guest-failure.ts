import { type ToolFailureCode, toolFailureCode } from "../../../tool/tool-failure.ts";
import { DRIVER_NAME } from "../driver/driver.ts";

/** The longest text in which the driver can report a failure: four strings of 8,192 characters, each `\uXXXX`. */
const MAX_LENGTH: number = 4 * (8_192 * 6 + 3);

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

/** Parses the driver's `[name, message, stack, code]`. Anything else becomes a failure without a message. */
export function readGuestFailure(text: string): GuestFailure {
  const [name = "", message = "", stack = "", given = ""] = parseStrings(text);
  // Frames of the driver do not help the tool's author.
  const frames = stack.split("\n").filter((line) => line.trim() !== "" && !line.includes(DRIVER_NAME));
  const code = toolFailureCode(given);
  const detail = [`${name}: ${message}`, ...frames].join("\n");
  return { message, detail, code, userVisible: code === given };
}

function parseStrings(text: string): readonly string[] {
  if (text.length > MAX_LENGTH) return [];
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts)
      ? parts.slice(0, 4).map((part) => (typeof part === "string" ? part : ""))
      : [];
  } catch {
    return [];
  }
}
