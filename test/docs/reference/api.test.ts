import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { apiPage, COMMAND } from "../../../scripts/reference/api-page.ts";
import { apiPages } from "../../../scripts/reference/api-pages.ts";

const FOLDER = new URL("../../../docs/api/", import.meta.url);

describe("docs/api", () => {
  test("says what the types of every entry point say", () => {
    const written = readdirSync(FOLDER).map((name) => [name, readFileSync(new URL(name, FOLDER), "utf8")]);
    expect(Object.fromEntries(written), `write it with: ${COMMAND}`).toEqual(Object.fromEntries(apiPages()));
  });

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
  });

  test("cannot be written while an exported name has no documentation, or is not declared", () => {
    const source = '// Adding\n\nexport { add, gone } from "../sums.ts";\n';
    expect(() => apiPage({ name: "sums", source }, () => "export declare const add: number;\n")).toThrow(
      "sandgate/sums: without documentation: add (sums), gone (sums)",
    );
  });
});
