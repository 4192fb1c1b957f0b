import { appendFileSync } from "node:fs";

/** A row of the table that `npm run test:guests` prints. */
export interface Row {
  /** What was checked. */
  readonly check: string;
  /** How many, or under which limit. */
  readonly size: string;
  readonly result: string;
  /** What the result may be. */
  readonly bound: string;
}

/** Adds a row to the table. */
export function addRow(row: Row): void {
  const file = process.env["SANDGATE_GUESTS_REPORT"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
}

/** Whether everything runs, and not a sample only. */
export const IS_LONG: boolean = process.env["SANDGATE_GUESTS_LONG"] === "1";

/** What the samples depend on. */
export const SEED: number = Number(process.env["SANDGATE_GUESTS_SEED"] ?? 1);
