/** The longest stack frame in which a position is looked for, in characters. */
const MAX_FRAME_LENGTH = 1_024;

/**
 * Describes why a module failed to load, starting with the position: `lib/check.ts:2:9: TypeError: …`. It takes
 * time linear in the length of `detail`, which the guest controls.
 *
 * @param detail The name and message of the error, followed by the lines of its stack.
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
