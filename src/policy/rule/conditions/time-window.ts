import type { Flaw } from "../../../config/shape.ts";
import type { TimeWindow } from "../rule.ts";

/** In the order of `Date.getDay`. */
export const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** Hours from one time of the day to another, which does not belong to them. */
export const HOURS_PATTERN = "^(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$";

const MINUTE_MS = 60_000;

/** The day of the week and the minute of the day. */
interface LocalTime {
  readonly day: (typeof WEEKDAYS)[number];
  readonly minute: number;
}

/** Returns whether a time, in milliseconds since the epoch, is in a window that was checked. */
export function compileWindow({ days, hours, zone }: TimeWindow): (at: number) => boolean {
  const read = localTimes(zone);
  const spans = hours?.map(spanOf);
  const isIn = ({ day, minute }: LocalTime): boolean =>
    (days?.includes(day) ?? true) &&
    (spans?.some(([from, to]) =>
      from < to ? from <= minute && minute < to : from <= minute || minute < to,
    ) ??
      true);
  let last = { minute: Number.NaN, isIn: false };
  return (at) => {
    // Reading a time in a zone takes far longer than a decision.
    const minute = Math.floor(at / MINUTE_MS);
    if (minute !== last.minute) last = { minute, isIn: isIn(read(minute * MINUTE_MS)) };
    return last.isIn;
  };
}

function localTimes(zone: string): (at: number) => LocalTime {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
    return {
      day: (parts.get("weekday") ?? "").toLowerCase() as LocalTime["day"],
      minute: Number(parts.get("hour")) * 60 + Number(parts.get("minute")),
    };
  };
}

function spanOf(hours: string): readonly [from: number, to: number] {
  const [from = 0, to = 0] = hours.split("-").map((time) => {
    const [hour = 0, minute = 0] = time.split(":").map(Number);
    return hour * 60 + minute;
  });
  return [from, to];
}

/** Such as `mon, tue 09:00-17:00 Europe/Zurich`. */
export function describeWindow({ days = [], hours = [], zone }: TimeWindow): string {
  return [days.join(", "), hours.join(", "), zone].filter((part) => part !== "").join(" ");
}

/** Finds flaws of a window that its shape does not cover. */
export function windowFlaws(path: readonly string[], { hours = [], zone }: TimeWindow): readonly Flaw[] {
  const flaws: Flaw[] = hours.flatMap((each, index) => {
    const [from, to] = spanOf(each);
    const message = "these hours are empty: the end is the beginning";
    return from === to ? [{ path: [...path, "hours", String(index)], at: "value", message }] : [];
  });
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: zone });
  } catch {
    const message = `there is no time zone '${zone}': write one such as Europe/Zurich or UTC`;
    flaws.push({ path: [...path, "zone"], at: "value", message });
  }
  return flaws;
}
