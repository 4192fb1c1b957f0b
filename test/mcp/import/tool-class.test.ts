import { describe, expect, test } from "vitest";
import { ImportedClasses } from "../../../src/mcp/import/tool-name.ts";

const classes = new ImportedClasses({
  "mcp_files_read_*": "read",
  "mcp_files_*": "write",
  mcp_mail_send: "network",
});

describe("The class of an imported tool", () => {
  test("is destructive unless the embedder says otherwise, whatever the server hints", () => {
    expect(classes.classOf("mcp_other_get", { readOnlyHint: true, destructiveHint: false })).toBe(
      "destructive",
    );
    expect(classes.classOf("mcp_other_get", undefined)).toBe("destructive");
  });

  test("is that of the first pattern that matches", () => {
    expect(classes.classOf("mcp_files_read_text", undefined)).toBe("read");
    expect(classes.classOf("mcp_files_move", { readOnlyHint: true })).toBe("write");
  });

  test("gets stricter by a hint", () => {
    expect(classes.classOf("mcp_files_read_text", { readOnlyHint: false })).toBe("write");
    expect(classes.classOf("mcp_files_read_text", { destructiveHint: true })).toBe("destructive");
    expect(classes.classOf("mcp_mail_send", { readOnlyHint: false })).toBe("network");
  });

  test("ignores hints that are no hints", () => {
    expect(classes.classOf("mcp_files_read_text", ["destructiveHint"])).toBe("read");
    expect(classes.classOf("mcp_files_read_text", { destructiveHint: "true" })).toBe("read");
  });
});
