import { openSandboxes } from "sandgate";
import { expect, test } from "vitest";
import { run } from "../../examples/coding-agent/run.ts";
import { ISOLATIONS } from "../sandboxes/process/availability.ts";

test.skipIf(ISOLATIONS.length === 0).each(ISOLATIONS)(
  "in examples/coding-agent, an agent fixes and commits an error with all toolsets, confined by %s",
  { timeout: 120_000 },
  async (isolation) => {
    await using sandboxes = await openSandboxes({ process: { isolation } });
    const lines: string[] = [];
    const code = await run(sandboxes, (line) => lines.push(line));
    const transcript = lines.join("\n");
    expect(transcript).not.toContain("not as it should be");
    expect(code).toBe(0);
    expect(transcript).toContain("FAILED: the shipping of 50 costs 5, not 0");
    expect(transcript).toContain("    permission_denied: Path escapes workspace boundary");
    expect(transcript).toContain("\n    X-AI-Model: ");
    expect(lines.at(-1)).toBe(`The programs were confined by: ${isolation}`);
  },
);

test("examples/coding-agent does nothing, and says why, where no program can be confined", async () => {
  const nowhere = { isolation: "namespaces", bubblewrap: "/nonexistent/bwrap" } as const;
  await using sandboxes = await openSandboxes({ process: nowhere });
  const lines: string[] = [];
  expect(await run(sandboxes, (line) => lines.push(line))).toBe(0);
  expect(lines).toEqual([expect.stringMatching(/^skipped: .*\/nonexistent\/bwrap/)]);
});
