import type { JSX } from "preact";
import { ForeignBlock } from "./foreign.tsx";

/** Shows a value of the API, whose texts the server has escaped, as indented JSON. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  return <ForeignBlock text={JSON.stringify(value, null, 2) ?? ""} label={label} />;
}

/** Writes a short value of the API in one line, a number with two decimals at most. */
export function brief(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "decision" in value) return brief(value.decision);
  if (typeof value === "number") return String(Math.round(value * 100) / 100);
  return value === undefined ? "" : JSON.stringify(value);
}
