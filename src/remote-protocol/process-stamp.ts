import { randomBytes } from "node:crypto";

/** What an answer says about the process that sent it. */
export interface ProcessStamp {
  /** Identifies one start of an executor: 32 hexadecimal digits. */
  readonly id: string;
  /** When it sent the answer, in whole ms on a clock of its own, which never goes back. */
  readonly time: number;
}

const STAMP = /^"([0-9a-f]{32})";time=([0-9]{1,15})$/;

/** Returns an id for an executor that starts. */
export function newProcessId(): string {
  return randomBytes(16).toString("hex");
}

/** Whether a text, which is not trusted, has the form of such an id. */
export function isProcessId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** Writes the value of the header: a string with a parameter (RFC 8941). */
export function writeProcessStamp(id: string, now: number): string {
  return `"${id}";time=${Math.floor(now)}`;
}

/** Reads the value of the header, which is not trusted. Returns `undefined` if it is missing or malformed. */
export function readProcessStamp(value: unknown): ProcessStamp | undefined {
  const [, id, time] = typeof value === "string" ? (STAMP.exec(value) ?? []) : [];
  return id === undefined ? undefined : { id, time: Number(time) };
}
