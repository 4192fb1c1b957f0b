import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { apiPage, apiSection, COMMAND } from "../../../scripts/reference/api-page.ts";
import { apiReference } from "../../../scripts/reference/api-pages.ts";

const { pages, report } = apiReference();

test("docs/api.md lists every exported name, and no other", () => {
  expect(report, `write it with: ${COMMAND}`).toBe(readFileSync("docs/api.md", "utf8"));
});

describe("The reference of an entry point", () => {
  test("has every overload, and no private members", () => {
    const source = '// Adding\n\nexport { add, type Sum } from "../sums.ts";\n';
    const declarations = `/** Adds. */
export declare function add(a: number): number;
export declare function add(a: string): string;
declare function hidden(): void;
/**
 * A sum of {@link add}.
 *
 * @throws {TypeError} if it is
 *   too large.
 */
export declare class Sum {
    #private;
    private readonly parts;
    /** Its value. */
    readonly value: number;
}
`;
    const page = apiPage({ name: "sums", source }, () => declarations);
    expect(page).toContain("### add (function)\n\nAdds.");
    expect(page).toContain("function add(a: number): number;");
    expect(page).toContain("function add(a: string): string;");
    expect(page).toContain("A sum of `add`.\n\n- Throws `TypeError` if it is too large.\n");
    expect(page).toContain("class Sum {\n    /** Its value. */\n    readonly value: number;\n}");
    expect(page).not.toContain("hidden");
    expect(apiSection({ name: "sums", source }, () => declarations)).toBe(
      "## sandgate/sums\n\n2 names.\n\n- `Sum` (class): A sum of `add`.\n- `add` (function): Adds.\n",
    );
  });

  test("cannot be written while an exported name has no documentation, or is not declared", () => {
    const source = '// Adding\n\nexport { add, gone } from "../sums.ts";\n';
    expect(() => apiPage({ name: "sums", source }, () => "export declare const add: number;\n")).toThrow(
      "sandgate/sums: without documentation: add (sums), gone (sums)",
    );
  });
});

const rows = Array.from(
  readFileSync("docs/names.md", "utf8").matchAll(/^\| (?!---|in a specification)(.*?) \| (.*?) \|$/gm),
  ([, theirs = "", ours = ""]) => [theirs, ours] as const,
);

/** Everything where a name of Sandgate is defined for its users. */
const defined = [
  "docs/sandgate-yaml.md",
  "docs/errors.md",
  "docs/sessions.md",
  "docs/confirmations.md",
  "CONTRIBUTING.md",
]
  .map((page) => readFileSync(page, "utf8"))
  .concat(...pages.values())
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
