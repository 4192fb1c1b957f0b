import { DRIVER_NAME } from "./driver/driver.ts";

/** A guest's failure as the driver wrote it. Hostile: the guest can make the driver write anything. */
export interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
}

/**
 * Says of a module that does not load what its author needs to know: `lib/check.ts:2:9: TypeError: …`.
 *
 * @param detail As {@link readFailure} gives it.
 */
export function describeLoadFailure(detail: string): string {
  const [, thrown = detail, stack = ""] = /^(.*?)\n(\s+at .*)$/s.exec(detail.trimEnd()) ?? [];
  const position = /^\s+at (?:.*\()?([^\s(]+:\d+:\d+)\)?$/m.exec(stack)?.[1];
  return position === undefined ? thrown : `${position}: ${thrown}`;
}

/** Reads the driver's `[name, message, stack]`; whatever it is not, it is a failure without a message. */
export function readFailure(text: string): GuestFailure {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    parts = [];
  }
  const [name = "", message = "", stack = ""] = (Array.isArray(parts) ? parts : []).map((part) =>
    typeof part === "string" ? part : "",
  );
  // The driver's own frames tell the tool's author nothing.
  const frames = stack.split("\n").filter((line) => line.trim() !== "" && !line.includes(DRIVER_NAME));
  return { message, detail: [`${name}: ${message}`, ...frames].join("\n") };
}
