import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { importedToolName } from "../../../src/mcp/import/tool-name.ts";

describe("The name of an imported tool", () => {
  test("has the server's name and the tool's", () => {
    expect(importedToolName("github", "create_issue")).toBe("mcp_github_create_issue");
  });

  test("has an underscore in place of what a provider might refuse", () => {
    expect(importedToolName("files", "a.b/c d\u202e\u{1f600}")).toBe("mcp_files_a_b_c_d__");
  });

  test("is cut with a hash of the whole, so that long names differ", () => {
    const [a, b] = [
      importedToolName("s", `${"x".repeat(100)}a`),
      importedToolName("s", `${"x".repeat(100)}b`),
    ];
    expect(a).toMatch(/^mcp_s_x{49}_[0-9a-f]{8}$/);
    expect(b).not.toBe(a);
  });

  test("is accepted by every provider, whatever the server calls its tool", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (tool) => {
        expect(importedToolName("server", tool)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
  });
});
