import { existsSync, linkSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { guardedFiles } from "../../src/base/guarded-files.ts";
import { SqliteSuspensionStore } from "../../src/programs/stores/sqlite-store.ts";
import { SqliteSessionStore } from "../../src/sessions/store/sqlite-store.ts";

interface Store {
  close(): void;
}

describe.each<[string, (file: string) => Store]>([
  ["sessions", (file) => new SqliteSessionStore(file)],
  ["programs", (file) => new SqliteSuspensionStore(file)],
])("A store of %s whose path is a link", (_, open) => {
  function folder(): (name: string) => string {
    const path = mkdtempSync(join(tmpdir(), "sandgate-links-"));
    onTestFinished(() => rmSync(path, { recursive: true }));
    return (name) => join(path, name);
  }

  test("is the file to which that leads, with its log beside it", () => {
    const at = folder();
    open(at("real.db")).close();
    symlinkSync("real.db", at("link.db"));
    const store = open(at("link.db"));
    expect(existsSync(at("real.db-wal"))).toBe(true);
    expect(existsSync(at("link.db-wal"))).toBe(false);
    expect(guardedFiles()).toContainEqual({ path: at("real.db-wal") });
    store.close();
  });

  test("is refused if the file has another hard link, whose log it would not see", () => {
    const at = folder();
    open(at("a.db")).close();
    linkSync(at("a.db"), at("b.db"));
    expect(() => open(at("b.db"))).toThrow("several hard links");
    expect(() => open(at("a.db"))).toThrow("remove the others, or name a copy of the file");
    rmSync(at("b.db"));
    open(at("a.db")).close();
  });
});
