import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, describe, expect, test, vi } from "vitest";
import { parseDocument } from "yaml";
import { run } from "../../src/cli/run.ts";
import { ConfigSource } from "../../src/config/source.ts";
import { readPolicy } from "../../src/policy/file/read.ts";

const root = dirname(dirname(import.meta.dirname));
const generated = `${import.meta.dirname}/.generated`;
afterAll(() => rmSync(generated, { recursive: true, force: true }));

/** The blocks of a language in a document of the repository. */
function blocks(document: string, language: string): string[] {
  const text = readFileSync(`${root}/${document}`, "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, body]) =>
    name === language ? [body ?? ""] : [],
  );
}

describe("README", () => {
  const programs = blocks("README.md", "ts");

  test("has a library example", () => expect(programs).toHaveLength(1));

  test.each(programs)("prints what it says: program %#", async (program) => {
    mkdirSync(generated, { recursive: true });
    writeFileSync(`${generated}/program.ts`, program);
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    try {
      await import(`${generated}/program.ts`);
      const printed = log.mock.calls.map((items) => items.join(" "));
      expect(printed).toEqual([...program.matchAll(/\/\/ prints: (.*)$/gm)].map(([, said]) => said));
    } finally {
      log.mockRestore();
    }
  });

  test("has a policy file and a sandgate.yaml that load without a problem", async () => {
    const files = blocks("README.md", "yaml");
    expect(files).toHaveLength(2);
    for (const file of files) {
      if ("tools" in parseDocument(file).toJS()) {
        mkdirSync(generated, { recursive: true });
        writeFileSync(`${generated}/sandgate.yaml`, file);
        const said = new PassThrough();
        const streams = { stdin: process.stdin, stdout: said, stderr: said };
        const code = await run(["check", "--config", `${generated}/sandgate.yaml`], streams as never);
        expect(said.end().read()?.toString()).toMatch(/1 tool, 0 errors, 0 warnings/);
        expect(code).toBe(0);
      } else {
        expect(readPolicy(ConfigSource.parse(file, "README.md"), []).warnings).toEqual([]);
      }
    }
  });

  test.each([
    "README.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "bench/README.md",
    "CHANGELOG.md",
    "docs/configuration.md",
    "docs/errors.md",
    "docs/host-tools.md",
    "docs/http-tools.md",
    "docs/javascript-tools.md",
    "docs/journal.md",
    "docs/operations.md",
    "docs/policies.md",
    "docs/providers.md",
    "docs/remote-protocol.md",
    "docs/schemas.md",
    "docs/sessions.md",
    "docs/telemetry.md",
    "docs/wasm-tools.md",
  ])("%s links to files that are there", (document) => {
    const text = readFileSync(`${root}/${document}`, "utf8");
    for (const [, target] of text.matchAll(/\]\(([^)#]+)\)/g)) {
      if (target?.startsWith("http")) continue;
      expect(() => statSync(`${root}/${dirname(document)}/${target}`)).not.toThrow();
    }
  });
});
