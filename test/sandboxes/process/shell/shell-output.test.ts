import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ProgramCompletion } from "../../../../src/tool/implementations/process-implementation.ts";
import type { ShellOptions } from "../../../../src/toolsets/shell-tools.ts";
import { unavailable } from "../availability.ts";
import { ShellScene } from "./shell-scene.ts";

async function openScene(options: ShellOptions = {}) {
  const scene = await ShellScene.open({}, options);
  onTestFinished(() => scene[Symbol.asyncDispose]());
  return scene;
}

/** A marker as the shell writes it, which no command knows. */
const FORGED = "printf '\\036%s000' 0123456789abcdef0123456789abcdef0123456789abcdef";

describe.skipIf(unavailable)("The output of a command in a persistent shell", () => {
  test("does not end at what looks like a marker", async () => {
    const scene = await openScene();
    const { output } = await scene.run(`${FORGED}; ${FORGED} >&2; printf '\\036'; (exit 7)`);
    const forged = "\x1e0123456789abcdef0123456789abcdef0123456789abcdef000";
    expect(output).toMatchObject({ exitCode: 7, stdout: `${forged}\x1e`, stderr: forged });
    expect(await scene.stdout("echo next")).toBe("next\n");
  });

  test("does not end early for a trap that says all that it can see", async () => {
    const scene = await openScene();
    const say =
      "printf '\\036%s000' $__sandgate; printf '\\036%s000' $__sandgate >&2; declare -p; echo $BASH_COMMAND";
    for (const trap of ["DEBUG", "ERR", "RETURN"]) {
      const { output } = await scene.run(`set -TE; trap "${say.replaceAll("$", "\\$")}" ${trap}; (exit 7)`);
      expect(output).toMatchObject({ exitCode: 7 });
      const { output: second } = await scene.run("echo second; (exit 8)");
      expect(second).toMatchObject({ exitCode: 8, stdout: expect.stringContaining("second\n") });
    }
  });

  test("does not end early for what set -x and set -v repeat, which say nothing of the marker", async () => {
    const scene = await openScene();
    await scene.run("set -xv");
    for (let n = 0; n < 3; n++) {
      const { output } = await scene.run(`echo ${n}; (exit 7)`);
      expect(output).toMatchObject({ exitCode: 7, stdout: `${n}\n` });
    }
    const { stderr } = (await scene.run("set +xv; echo")).output as unknown as ProgramCompletion;
    expect(stderr).not.toMatch(/printf/);
  });

  test("cannot be ended by a process of an earlier command", async () => {
    const scene = await openScene();
    await scene.run(`( while :; do ${FORGED}; ${FORGED} >&2; sleep 0.01; done ) & x=1`);
    for (let n = 0; n < 5; n++) {
      const { output } = await scene.run(`sleep 0.05; echo result ${n}; (exit ${n + 1})`);
      expect(output).toMatchObject({ exitCode: n + 1, stdout: expect.stringContaining(`result ${n}\n`) });
    }
  });

  test("begins with what background processes wrote since the command before it", async () => {
    const scene = await openScene();
    await scene.run("(sleep 0.05; echo later; touch done) & true");
    const written = async () =>
      expect((await scene.stdout("ls", { sessionId: "other" })).trim()).toBe("done");
    await vi.waitFor(written, { timeout: 20_000 });
    expect(await scene.stdout("echo now")).toBe("later\nnow\n");
  });

  test("is streamed as it comes, without the marker", async () => {
    const scene = await openScene();
    const chunks: string[] = [];
    const begun = Promise.withResolvers<void>();
    const running = scene.run("printf 'one\\036'; until [ -e go ]; do sleep 0.01; done; echo two >&2", {
      onOutput: (chunk) => {
        chunks.push(chunk);
        begun.resolve();
      },
    });
    await begun.promise;
    await scene.run("touch go", { sessionId: "other" });
    expect((await running).output).toMatchObject({ stdout: "one\x1e", stderr: "two\n" });
    expect(chunks.join("").replace("\x1e", "")).toBe("onetwo\n");
  });

  test("keeps the beginning and the end of a flood, and the shell goes on", async () => {
    const scene = await openScene();
    const { output } = await scene.run(
      "echo first; yes | head -c 50000000; echo last; { yes | head -c 50000000; echo end; } >&2; x=1",
    );
    const { stdout, stderr, truncated } = output as unknown as ProgramCompletion;
    expect(truncated).toBe(true);
    expect(stdout).toMatch(/^first\ny\n[\s\S]*\[… 49,\d{3},\d{3} bytes left out …\]\n[\s\S]*y\nlast\n$/);
    expect(stderr).toMatch(/^y\n[\s\S]*y\nend\n$/);
    expect(await scene.stdout("echo $x")).toBe("1\n");
    const limits = { outputBytes: 10_000 };
    const limited = await scene.run("seq 100000", { limits });
    expect(Buffer.byteLength(JSON.stringify(limited.output))).toBeLessThanOrEqual(10_000);
  });

  test("has no flood of a process in the background, which waits until the next command", async () => {
    const scene = await openScene();
    await scene.run("{ yes | head -c 100000000; touch done; } & x=1");
    // Nothing reads it, so it does not end.
    expect(await scene.stdout("sleep 0.5; ls", { sessionId: "other" })).toBe("");
    expect((await scene.run("kill %1; echo $x >&2")).output).toMatchObject({ stderr: "1\n" });
  });

  test("has whole characters, and U+FFFD for bytes that are none, also at the end of a command", async () => {
    const scene = await openScene();
    expect(await scene.stdout("printf '\\342'; sleep 0.1; printf '\\202\\254'")).toBe("€");
    expect(await scene.stdout("printf '\\342\\202'")).toBe("\ufffd");
    expect(await scene.stdout("printf '\\254'; echo é")).toBe("\ufffdé\n");
    const chunks: string[] = [];
    await scene.run("for i in 1 2 3; do printf '\\360\\237'; sleep 0.05; printf '\\230\\200'; done", {
      onOutput: (chunk) => chunks.push(chunk),
    });
    expect(chunks.join("")).toBe("😀😀😀");
  });

  test("fails a call whose code is not 0 if the tool says so, and says that the shell ended", async () => {
    const scene = await openScene({ failOnExit: true });
    await scene.run("x=1");
    expect((await scene.run("echo no >&2; false")).error?.message).toBe("no");
    expect((await scene.run("echo no >&2; exit 1")).error?.message).toBe(
      "no\nThe shell ended; the next command starts a new one",
    );
  });
});
