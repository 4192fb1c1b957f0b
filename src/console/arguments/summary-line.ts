import { printableLine } from "../parts/foreign.tsx";
import { fieldsOf, isMembers, type Json } from "./fields.ts";

/** The most characters of a value in a line. */
const MAX_VALUE = 80;

/**
 * Writes arguments in a line, in the order in which they are read.
 *
 * @param summary JSON, which the server has escaped. What is not whole stays as it is.
 */
export function summaryLine(summary: string): string {
  let value: Json;
  try {
    value = JSON.parse(summary) as Json;
  } catch {
    return summary;
  }
  if (!isMembers(value)) return summary;
  return fieldsOf(value)
    .map(({ name, value: own, isTarget }) => {
      const text = briefly(own);
      const short = printableLine(text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text);
      return isTarget ? short : `${printableLine(name)}: ${short}`;
    })
    .join(" · ");
}

function briefly(value: Json): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || value.every((item) => typeof item !== "object")) return JSON.stringify(value);
  return value.length === 1 ? "1 item" : `${value.length} items`;
}
