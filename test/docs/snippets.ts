import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";

/** The code blocks of a language in a document. Its path is relative to the repository. */
export function blocksOf(document: string, language: string): readonly string[] {
  const blocks = readFileSync(document, "utf8").matchAll(/^```(\w+)\n(.*?)^```$/gms);
  return Array.from(blocks).flatMap(([, name, body = ""]) => (name === language ? [body] : []));
}

/** Runs a program in TypeScript that imports the package by its name. Returns what it prints. */
export async function printedBy(program: string): Promise<readonly string[]> {
  // Below the repository, so that the program finds the package.
  mkdirSync(".cache", { recursive: true });
  const folder = mkdtempSync(join(process.cwd(), ".cache/docs-snippet-"));
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  try {
    writeFileSync(join(folder, "program.ts"), program);
    await import(join(folder, "program.ts"));
    return log.mock.calls.map((items) => items.join(" "));
  } finally {
    log.mockRestore();
    rmSync(folder, { recursive: true });
  }
}

/** What a program says that it prints. */
export function saidOutput(program: string): readonly string[] {
  return Array.from(program.matchAll(/\/\/ prints: (.*)$/gm), ([, said = ""]) => said);
}
