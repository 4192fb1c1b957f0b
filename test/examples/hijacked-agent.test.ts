import { writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../../examples/hijacked-agent/run.ts";

const POLICY = join(import.meta.dirname, "../../examples/hijacked-agent/policy.yaml");
const MAIL = '{"to":"ben@garden.example","text":"Rosa says: Saturday at 10."}';

test("in examples/hijacked-agent, only the mail that the user asked for is sent, and the rest is asked about", async () => {
  const lines = await run(POLICY);
  expect(lines.at(-1)).toBe(`sent in all: [${MAIL}]`);
  const asked = lines.filter((line) => line.startsWith("  asked: "));
  const because =
    "  asked: No rule allows this call without confirmation: 'mail that the user asked for' does not, because of";
  expect(asked).toEqual([...Array(3).fill(`${because} /to (from)`), `${because} /text (links)`]);
});

test("in examples/hijacked-agent, the attack gets through without the conditions on where values came from", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-hijacked-"));
  try {
    const lax = (await readFile(POLICY, "utf8")).replace(/ {4}when:\n(?: {6}.*\n)+/, "");
    writeFileSync(join(folder, "lax.yaml"), lax);
    const [sent = ""] = (await run(join(folder, "lax.yaml"))).slice(-1);
    expect(sent).toContain("archive@garden-help.example");
    expect(sent).toContain("garden-help[.]example/login");
  } finally {
    await rm(folder, { recursive: true });
  }
});
