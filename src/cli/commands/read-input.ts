import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { locateSyntaxError } from "../../json/syntax-error.ts";
import { shown } from "../../rendering/shown.ts";
import { UsageError } from "../errors.ts";
import type { Terminal } from "../terminal/terminal.ts";

/**
 * Reads the JSON text that an option gives: the text itself, that of a file (`@file`), or standard input (`-`).
 *
 * @param option The option's name in problems, such as `--input`.
 * @throws {UsageError} if it cannot be read or is not JSON.
 */
export async function readInput(option: string, value: string, { stdin }: Terminal): Promise<string> {
  const text = await readText(option, value, stdin);
  const flaw = locateSyntaxError(text);
  if (flaw === undefined) return text;
  const place = value === "-" ? "standard input" : value.startsWith("@") ? value.slice(1) : undefined;
  const what = place === undefined ? shown`${option}` : shown`${option}: ${place}`;
  throw new UsageError(shown`${what} is not valid JSON: ${flaw.reason} at position ${flaw.position}`);
}

async function readText(option: string, value: string, stdin: Terminal["stdin"]): Promise<string> {
  if (value !== "-" && !value.startsWith("@")) return value;
  try {
    const bytes = value === "-" ? await buffer(stdin) : await readFile(value.slice(1));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    const place = value === "-" ? "standard input" : value.slice(1);
    throw new UsageError(shown`${option}: ${place} cannot be read: ${(error as Error).message}`);
  }
}
