import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadPolicyFile } from "../../../src/policy/file/load.ts";
import { toolsOf } from "../../../src/toolsets/toolsets.ts";
import { pathOf, startServer, TestClient } from "../harness.ts";

/** A server whose calls may write a folder, and the text that a confirmation about a call has of its file. */
async function scene() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "current-text-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(folder, "outside.txt"), "secret");
  const grant = `{ directory: ${JSON.stringify(workspace)}, write: true }`;
  const rule = `{ tools: [write_file, edit_file], effect: allow, sandboxes: [host], capabilities: { fs: [${grant}] } }`;
  writeFileSync(join(folder, "policy.yaml"), `rules: [${rule}]\n`);
  const { policy } = await loadPolicyFile(join(folder, "policy.yaml"));
  const server = await startServer(toolsOf("fs", {}), { policy });
  const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
  const currentText = async (path: string, reader = carol): Promise<unknown> => {
    const args = { path, content: "new" };
    await alice.dispatch(await alice.open(), [{ id: "c1", name: "write_file", arguments: args }]);
    const [confirmation] = await carol.confirmations();
    if (confirmation === undefined) throw new Error("nobody is asked");
    const { currentText: text } = await reader.json<{ currentText?: unknown }>("GET", pathOf(confirmation));
    await carol.answer(confirmation, { decision: "deny" });
    return text;
  };
  return { server, folder, workspace, currentText };
}

test("An approver reads the text of the file that a call would write, as it is now", async () => {
  const { workspace, currentText } = await scene();
  writeFileSync(join(workspace, "a.txt"), "before\n");
  expect(await currentText("a.txt")).toBe("before\n");
  writeFileSync(join(workspace, "a.txt"), "later\n");
  expect(await currentText("a.txt")).toBe("later\n");
  expect(await currentText("missing.txt")).toBe(null);
});

test("The text is left out of what is no text, too long, outside of the grant, or for others", async () => {
  const { server, folder, workspace, currentText } = await scene();
  writeFileSync(join(workspace, "binary"), Buffer.of(0xff, 0xfe));
  writeFileSync(join(workspace, "long.txt"), "x".repeat(300_000));
  mkdirSync(join(workspace, "folder"));
  writeFileSync(join(workspace, "a.txt"), "before\n");
  for (const path of ["binary", "long.txt", "folder"]) expect(await currentText(path)).toBe(undefined);
  expect(await currentText("a.txt", new TestClient(server, "erin"))).toBe(undefined);
  expect(await currentText("a.txt", new TestClient(server, "alice"))).toBe(undefined);
  symlinkSync(join(folder, "outside.txt"), join(workspace, "link.txt"));
  expect(await currentText("link.txt")).toBe(undefined);
});
