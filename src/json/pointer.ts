/** An index of a list (RFC 6901, section 4). */
export const LIST_INDEX: RegExp = /^(?:0|[1-9][0-9]*)$/;

/** Escapes a member name for a JSON pointer (RFC 6901, section 3). */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The member name that a step of a JSON pointer stands for. */
export function unescapePointer(step: string): string {
  return step.replaceAll("~1", "/").replaceAll("~0", "~");
}
