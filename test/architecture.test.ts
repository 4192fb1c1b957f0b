import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../src");

/** What the outermost rooms may import. */
const INNER = [
  ...["json", "schema", "config", "policy", "egress", "workspace", "key-value", "remote-protocol"],
  ...["sandboxes", "engine", "protocols"],
];

/** Which rooms each room may import: the table of CONTRIBUTING.md. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  json: [],
  schema: ["json"],
  config: ["json"],
  policy: ["json", "config"],
  egress: ["json", "policy"],
  workspace: ["policy"],
  "key-value": ["json"],
  "remote-protocol": ["json", "policy"],
  sandboxes: ["json", "policy", "egress", "workspace", "key-value", "remote-protocol"],
  engine: ["json", "schema", "policy", "sandboxes"],
  protocols: ["json", "schema", "policy", "engine"],
  executor: ["json", "policy", "engine", "remote-protocol"],
  cli: [...INNER, "executor"],
  index: [...INNER, "executor"],
};

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));

/** The files of ours that a file imports, for types too. */
const importsOf = new Map(
  files.map((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)].map(
      ([, specifier]) => specifier ?? "",
    );
    return [file, specifiers.map((specifier) => relative(SRC, resolve(SRC, dirname(file), specifier)))];
  }),
);

const roomOf = (file: string): string => file.split("/")[0]?.replace(/\.ts$/, "") ?? "";

describe("imports", () => {
  test("point inward, from room to room", () => {
    const wrong = files.flatMap((file) =>
      (importsOf.get(file) ?? [])
        .filter((imported) => roomOf(imported) !== roomOf(file))
        .filter((imported) => !MAY_IMPORT[roomOf(file)]?.includes(roomOf(imported)))
        .map((imported) => `${file} → ${imported}`),
    );
    expect(wrong).toEqual([]);
  });

  test("take the engine to the sandboxes' contracts only", () => {
    const inside = files
      .filter((file) => roomOf(file) === "engine")
      .flatMap((file) => importsOf.get(file) ?? [])
      .filter((imported) => /^sandboxes\/.+\//.test(imported));
    expect(inside).toEqual([]);
  });

  test("do not go in circles, not even for types", () => {
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (file: string, way: readonly string[]): void => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(" → "));
      if (way.includes(file) || done.has(file)) return;
      for (const imported of importsOf.get(file) ?? []) visit(imported, [...way, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });

  test("are of every room that CONTRIBUTING.md names, and of no other", () => {
    const contributing = readFileSync(resolve(SRC, "../CONTRIBUTING.md"), "utf8");
    const named = [...contributing.matchAll(/^\| `([\w-]+)(?:\/|\.ts)` \|/gm)].map(([, room]) => room);
    expect(new Set(named)).toEqual(new Set(files.map(roomOf)));
  });
});
