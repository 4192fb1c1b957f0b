/** How a program ended, as its machine reports it. Untrusted, like everything from a machine. */
export interface Report {
  /** The exit code; 128 and the signal's number after a signal. */
  readonly code: number;
  /** Whether the machine's kernel killed processes that took more memory than the limit. */
  readonly ranOutOfMemory: boolean;
  /** The most memory that all processes had together; absent if the kernel does not count it. */
  readonly peakBytes?: number;
}

/**
 * Returns a function that is given the lines of a report one by one, and returns the report at its last line. The first
 * begins with the token and the status of wait(2) as four letters, followed by the lines of `memory.events`; the last is
 * that of `memory.peak`, or `none`.
 */
export function reportReader(token: string): (line: string) => Report | undefined {
  let status: number | undefined;
  let killed = 0;
  return (line) => {
    if (status === undefined) {
      if (line.startsWith(token)) status = readLetters(line.slice(token.length));
      return undefined;
    }
    const [, kills] = /^oom_kill (\d{1,9})$/.exec(line) ?? [];
    if (kills !== undefined) killed = Number(kills);
    if (!/^(?:\d{1,15}|none)$/.test(line)) return undefined;
    const signal = status & 0x7f;
    return {
      code: signal === 0 ? status >> 8 : 128 + signal,
      ranOutOfMemory: killed > 0,
      ...(line !== "none" && { peakBytes: Number(line) }),
    };
  };
}

/** The number that four letters stand for: each from `a` for 0 to `p` for 15. */
function readLetters(text: string): number | undefined {
  const [letters] = /^[a-p]{4}/.exec(text) ?? [];
  if (letters === undefined) return undefined;
  return [...letters].reduce((number, letter) => number * 16 + letter.charCodeAt(0) - 97, 0);
}
