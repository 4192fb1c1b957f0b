import { DRIVER_NAME } from "./driver/driver.ts";

/** A guest's failure, as reported by the driver. Untrusted: the guest can make the driver report anything. */
export interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
}

/**
 * Describes why a module failed to load, starting with the position: `lib/check.ts:2:9: TypeError: …`. It takes
 * time linear in the length of `detail`, which the guest controls.
 *
 * @param detail The `detail` of {@link readFailure}.
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
  // Frames of the driver do not help the tool's author.
  const frames = stack.split("\n").filter((line) => line.trim() !== "" && !line.includes(DRIVER_NAME));
  return { message, detail: [`${name}: ${message}`, ...frames].join("\n") };
}
