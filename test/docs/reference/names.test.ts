import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const rows = Array.from(
  readFileSync("docs/names.md", "utf8").matchAll(/^\| (?!---|in a specification)(.*?) \| (.*?) \|$/gm),
  ([, theirs = "", ours = ""]) => [theirs, ours] as const,
);

/** Everything where a name of Sandgate is defined for its users. */
const defined = [
  ...readdirSync("docs/api").map((page) => `docs/api/${page}`),
  ...["docs/sandgate-yaml.md", "docs/errors.md", "docs/sessions.md", "CONTRIBUTING.md"],
]
  .map((page) => readFileSync(page, "utf8"))
  .join("\n");

describe("docs/names.md", () => {
  test("has names of specifications that have others here", () => {
    const theirs = rows.map(([name]) => name).join("\n");
    for (const name of [
      "tool.called",
      "tool.input_invalid",
      "Definition#call",
      "validate_params",
      "AuditBuffer",
    ]) {
      expect(theirs).toContain(`\`${name}\``);
    }
  });

  test.each(rows)("leads from %s to names that exist", (_, ours) => {
    const names = Array.from(ours.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);
    for (const name of names.flatMap((text) => text.match(/[A-Za-z_][\w.]*/g) ?? [])) {
      const last = name.split(".").at(-1) ?? "";
      expect(defined, name).toMatch(new RegExp(`\\b${last}\\b`));
    }
  });
});
