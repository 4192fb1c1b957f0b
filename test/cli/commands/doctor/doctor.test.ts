import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { NOT_ENFORCED, reportProcess } from "../../../../src/sandboxes/process/process-report.ts";
import { unavailable as noMicrovm } from "../../../sandboxes/microvm/availability.ts";
import { ISOLATIONS, landlockUnavailable, unavailable } from "../../../sandboxes/process/availability.ts";
import { createFolder, sandgate } from "../../sandgate.ts";

const NONE = "/nonexistent/bwrap";

const config = (sandbox: string, limits: string, sandboxes = "{}"): Record<string, string> => ({
  "sandgate.yaml": `
tools:
  - name: run
    description: Runs
    inputSchema: { type: object }
    ${sandbox === "process" ? "process: { command: sh, args: [-c, echo], input: none }" : "quickjs: { file: tool.js }"}
policy:
  rules:
    - tools: [run]
      effect: allow
      sandboxes: [${sandbox}]
      limits: ${limits}
sandboxes: ${sandboxes}
`,
  "tool.js": "export default () => null;",
});

describe("sandgate doctor", () => {
  test("says what holds on this machine, whatever that is", async () => {
    const { code, stdout, stderr } = await sandgate(["doctor"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Node.js: ${process.versions.node}`);
    expect(stdout).toMatch(/^ {2}quickjs: works$/m);
    expect(stdout).toMatch(
      ISOLATIONS.length > 0 ? /^ {2}process: works$/m : /^ {2}process: does not work: .* \(remedy: /m,
    );
    expect(stdout).toContain(`  isolation: ${ISOLATIONS[0] ?? "none"}\n`);
    expect(stdout).toMatch(/^ {4}landlock: /m);
    expect(stdout).toMatch(
      noMicrovm === undefined
        ? /^virtual machines \(sandbox microvm\):\n {2}QEMU: QEMU/m
        : /^ {2}microvm: does not work: /m,
    );
    expect(stdout).toMatch(/^ {4}fileBytes: does not work: programs (do not have it|cannot be confined)/m);
  });

  test("says the same in JSON", async () => {
    const { code, stdout } = await sandgate(["doctor", "--json"]);
    expect(code).toBe(0);
    const { node, sandboxes, process: program } = JSON.parse(stdout);
    expect(node.version).toBe(process.versions.node);
    expect(sandboxes.host).toEqual({ holds: true });
    const confines = ISOLATIONS.length > 0;
    const { cgroups } = await reportProcess();
    expect(sandboxes.process.holds).toBe(confines);
    expect(sandboxes.microvm.holds).toBe(noMicrovm === undefined);
    expect(program.isolation).toBe(ISOLATIONS[0] ?? "none");
    expect(program.isolations.namespaces.holds).toBe(unavailable === undefined);
    expect(program.isolations.landlock.holds).toBe(landlockUnavailable === undefined);
    expect(program.network.holds).toBe(unavailable === undefined);
    expect(program.limits.wallTimeMs.holds).toBe(confines);
    expect(program.limits.memoryBytes.holds).toBe(confines && !("reason" in cgroups.memory));
  });

  test("exits with 0 if what a config uses holds, and with 1 if not", async () => {
    const held = await createFolder(config("quickjs", "{ wallTime: 1s }"));
    expect(await sandgate(["doctor", "--config", `${held}/sandgate.yaml`])).toMatchObject({
      code: 0,
      stderr: "",
    });
    const unenforced = await createFolder(config("process", "{ file: 1MiB }"));
    const { code, stderr } = await sandgate(["doctor", "--config", `${unenforced}/sandgate.yaml`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/sandgate\.yaml:\d+:\d+: .*cannot enforce this limit/);
    const { stdout } = await sandgate(["doctor", "--json", "--config", `${unenforced}/sandgate.yaml`]);
    expect(JSON.parse(stdout).missing.length).toBeGreaterThan(0);
  });

  test.skipIf(landlockUnavailable)("names what Landlock does not hold where programs run on it", async () => {
    const limits = "{ wallTime: 1s }\n      capabilities: { net: ['https://example.com'] }";
    const folder = await createFolder(config("process", limits, `{ process: { bubblewrap: ${NONE} } }`));
    const { code, stdout, stderr } = await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /sandgate\.yaml:\d+:\d+: .*programs on Landlock have no network.*calls of 'run' fail/,
    );
    expect(stdout).toMatch(/^ {2}process: works$/m);
    expect(stdout).toMatch(
      /^ {2}isolation: landlock\n {4}namespaces: does not work: bubblewrap is not installed/m,
    );
    for (const [name, what] of Object.entries(NOT_ENFORCED))
      expect(stdout).toContain(`    not enforced: ${name}: ${what}\n`);
    expect(stdout).toMatch(/^ {2}network: does not work: .* \(remedy: apt-get install bubblewrap\)$/m);
  });

  test("reports that programs do not run if what the config requires is not there", async () => {
    const required = `{ process: { isolation: namespaces, bubblewrap: ${NONE} } }`;
    const folder = await createFolder(config("process", "{ wallTime: 1s }", required));
    const { code, stdout, stderr } = await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/bubblewrap is not installed: there is no \/nonexistent\/bwrap/);
    expect(stdout).toMatch(/^ {2}process: does not work: bubblewrap is not installed/m);
    expect(stdout).toMatch(/^ {2}isolation: none$/m);
    expect(stdout).toMatch(/^ {4}wallTimeMs: does not work: programs cannot be confined here$/m);
  });

  test.skipIf(!process.allowedNodeEnvironmentFlags.has("--experimental-ffi"))(
    "says that programs cannot run on Landlock without node:ffi, and how to get it",
    () => {
      const main = fileURLToPath(new URL("../../../../src/cli/main.ts", import.meta.url));
      const stdout = execFileSync(process.execPath, ["--no-experimental-ffi", main, "doctor"], {
        encoding: "utf8",
      });
      expect(stdout).toContain("node:ffi: needs --experimental-ffi");
      expect(stdout).toMatch(
        /^ {4}landlock: does not work: Node\.js \S+ has no node:ffi, .* \(remedy: start Node\.js with --experimental-ffi\)$/m,
      );
    },
  );

  test("exits with 2 if the config is invalid", async () => {
    const folder = await createFolder({ "sandgate.yaml": "tools: 1" });
    expect((await sandgate(["doctor", "--config", `${folder}/sandgate.yaml`])).code).toBe(2);
  });
});
