import { DRIVER_NAME } from "../driver/driver.ts";

/** The longest text in which the driver can report a failure: three strings of 8,192 characters, each `\uXXXX`. */
const MAX_LENGTH: number = 3 * (8_192 * 6 + 3);

/** A guest's failure, as reported by the driver. Untrusted: the guest can make the driver report anything. */
export interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
}

/** Parses the driver's `[name, message, stack]`. Anything else becomes a failure without a message. */
export function readGuestFailure(text: string): GuestFailure {
  const [name = "", message = "", stack = ""] = parseStrings(text);
  // Frames of the driver do not help the tool's author.
  const frames = stack.split("\n").filter((line) => line.trim() !== "" && !line.includes(DRIVER_NAME));
  return { message, detail: [`${name}: ${message}`, ...frames].join("\n") };
}

function parseStrings(text: string): readonly string[] {
  if (text.length > MAX_LENGTH) return [];
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts)
      ? parts.slice(0, 3).map((part) => (typeof part === "string" ? part : ""))
      : [];
  } catch {
    return [];
  }
}
