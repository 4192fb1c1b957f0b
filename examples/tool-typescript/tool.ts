// Converts a time to seconds. Types are removed when the tool is loaded; run tsc to check them.

interface Input {
  readonly time: string;
}

interface Context {
  readonly log: (...items: unknown[]) => void;
}

/** `1:02:03`, `2:03` or `3`. */
const TIME = /^(?:(?:(\d{1,3}):)?([0-5]?\d):)?([0-5]?\d)$/;

export default ({ time }: Input, { log }: Context): { seconds: number } => {
  const match = TIME.exec(time);
  if (match === null) throw new RangeError(`'${time}' is not a time like 1:02:03`);
  const [hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
  ];
  log(`hours: ${hours}`);
  return { seconds: (hours * 60 + minutes) * 60 + seconds };
};
