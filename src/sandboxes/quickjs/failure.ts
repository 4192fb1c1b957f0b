import { DRIVER_NAME } from "./driver/driver.ts";

/** A guest's failure, as reported by the driver. Untrusted: the guest can make the driver report anything. */
export interface GuestFailure {
  readonly message: string;
  /** Name, message and the guest's stack, for the operator. */
  readonly detail: string;
}

/** The longest stack frame in which a position is looked for, in characters. */
const MAX_FRAME_LENGTH = 1_024;

/**
 * Describes why a module failed to load, starting with the position: `lib/check.ts:2:9: TypeError: …`. It takes
 * time linear in the length of `detail`, which the guest controls.
 *
 * @param detail The `detail` of {@link readFailure}.
 */
export function describeLoadFailure(detail: string): string {
  const lines = detail.trimEnd().split("\n");
  const firstFrame = lines.findIndex(isFrame);
  if (firstFrame < 0) return lines.join("\n");
  const thrown = lines.slice(0, firstFrame).join("\n");
  for (const line of lines.slice(firstFrame)) {
    const position = positionIn(line);
    if (position !== undefined) return `${position}: ${thrown}`;
  }
  return thrown;
}

function isFrame(line: string): boolean {
  return line.startsWith(" ") && line.trimStart().startsWith("at ");
}

/** The position in a frame such as `    at f (lib/check.ts:2:9)`. */
function positionIn(frame: string): string | undefined {
  if (!isFrame(frame) || frame.length > MAX_FRAME_LENGTH) return undefined;
  const location = frame.slice(frame.lastIndexOf("(") + 1).replace(/\)$/, "");
  const position = location.trim().split(/\s/).at(-1) ?? "";
  return /^.+:\d+:\d+$/.test(position) ? position : undefined;
}

/** Parses the driver's `[name, message, stack]`. Anything else becomes a failure without a message. */
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
