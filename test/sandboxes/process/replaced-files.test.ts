import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type GuardedFile, guardFiles } from "../../../src/base/guarded-files.ts";
import type { FsGrant } from "../../../src/policy/grant/fs-grant.ts";
import { openSandboxes, type Sandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { codeOf, GrantedTree, readText } from "../../workspace/granted-tree.ts";
import { ISOLATIONS, unavailable } from "./availability.ts";
import { runProgram } from "./run-program.ts";
import { ShellScene } from "./shell/shell-scene.ts";

const ENDED = /one of Sandgate's own files, was created or replaced while it ran/;
/** So long that the program is ended before. */
const LONG = "sleep 60";
const MINUTE = { timeout: 60_000 };

let tree: GrantedTree;
let folder: string;
const at = (path: string): string => join(folder, path);

/** Guards files until the test ends. */
function guard(files: readonly GuardedFile[]): void {
  onTestFinished(guardFiles(files));
}

/** Gives a file other contents as editors do, under a new inode. */
function replace(path: string, contents: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(join(tree.outside, "new"), contents);
  renameSync(join(tree.outside, "new"), at(path));
}

beforeEach(() => {
  tree = new GrantedTree();
  folder = tree.root;
  onTestFinished(() => tree[Symbol.dispose]());
  for (const path of ["conf/config.yaml", "conf/token", "project/a.txt"]) replace(path, "OWN");
  guard([
    { path: at("conf/config.yaml"), access: "read" },
    { path: at("conf/config.lock"), access: "read" },
    { path: at("conf/token") },
    { path: at("conf/keys/later.key") },
  ]);
});

describe.skipIf(unavailable !== undefined)("While a program of a call runs", async () => {
  const sandboxes = await openSandboxes({ process: { isolation: "namespaces" } });
  afterAll(() => sandboxes.close());

  /** Runs a script that says that it started, waits, and then tries something. */
  const during = async (
    act: () => void,
    attempt: string,
    grant: Partial<FsGrant> = { write: true },
  ): Promise<Awaited<ReturnType<typeof runProgram>>> => {
    rmSync(at("project/started"), { force: true });
    const signals = [
      { directory: at("project"), at: "/signals", write: true },
      { directory: folder, at: "/workspace", ...grant } as FsGrant,
    ];
    const running = runProgram(sandboxes, {
      program: {
        command: "sh",
        args: () => ["-c", `touch /signals/started; cd /workspace; ${attempt}`],
        output: "text",
      },
      capabilities: { fs: signals },
    });
    await vi.waitFor(() => expect(existsSync(at("project/started"))).toBe(true), { timeout: 20_000 });
    act();
    return running;
  };

  test.each([
    ["a config that is replaced", "conf/config.yaml", `${LONG}; echo BAD > conf/config.yaml`],
    ["a token that is replaced", "conf/token", `${LONG}; cat conf/token`],
  ])("%s ends it", MINUTE, async (_, path, attempt) => {
    const { error, output } = await during(() => replace(path, "NEW"), attempt);
    expect({ code: error?.code, output }).toEqual({ code: "execution_error", output: null });
    expect(error?.message).toMatch(ENDED);
    expect(error?.message).toContain(`/workspace/${path}`);
    expect(readFileSync(at(path), "utf8")).toBe("NEW");
  });

  test(
    "a lock or a key that is made ends it, and cannot be told from one of the program",
    MINUTE,
    async () => {
      for (const path of ["conf/config.lock", "conf/keys/later.key"]) {
        const { error } = await during(
          () => replace(path, "NEW"),
          `${LONG}; cat ${path}; echo BAD > ${path}`,
        );
        expect(error?.message).toMatch(ENDED);
        expect(existsSync(at(path))).toBe(false);
      }
      // No tool reads the key where it is now.
      const { output } = await during(() => {}, "cat .sandgate/moved-aside/* 2>/dev/null || true");
      expect(output).toBe("NEW");
      const [directory] = tree.open();
      const moved = readdirSync(at(".sandgate/moved-aside")).map((name) => `.sandgate/moved-aside/${name}`);
      const readings = moved.map((path) => codeOf(() => readText(directory, path)));
      expect(readings).toHaveLength(2);
      expect(readings).toContainEqual({ returned: "NEW" });
      expect(readings).toContain("not-permitted");
    },
  );

  test("a key that is made ends it even if it can only read, and stays", MINUTE, async () => {
    const { error } = await during(
      () => replace("conf/keys/later.key", "NEW"),
      `${LONG}; cat conf/keys/later.key`,
      {},
    );
    expect(error?.message).toMatch(ENDED);
    expect(readFileSync(at("conf/keys/later.key"), "utf8")).toBe("NEW");
  });

  test("a directory that is replaced above one ends it", MINUTE, async () => {
    const { error } = await during(() => {
      renameSync(at("conf"), at("conf.old"));
      replace("conf/token", "NEW");
    }, `${LONG}; cat conf/token`);
    expect(error?.message).toMatch(ENDED);
  });

  test("a file in its grant that is guarded from now on ends it", MINUTE, async () => {
    const { error } = await during(
      () => guard([{ path: at("project/a.txt") }]),
      `${LONG}; cat project/a.txt`,
    );
    expect(error?.message).toMatch(ENDED);
  });

  test("changes of other files do not end it, nor a config that it only reads", MINUTE, async () => {
    const { output } = await during(() => {
      replace("project/a.txt", "NEW");
      replace("project/b.txt", "NEW");
    }, "sleep 3; cat project/a.txt");
    expect(output).toBe("NEW");
    const reading = await during(
      () => replace("conf/config.yaml", "NEW"),
      "sleep 3; cat conf/config.yaml",
      {},
    );
    expect(reading.output).toBe("NEW");
  });

  test(
    "it is ended when it makes what Sandgate would read itself, and that is moved aside",
    MINUTE,
    async () => {
      const { error } = await during(
        () => {},
        "echo BAD > conf/config.lock; sleep 60; echo BAD >> conf/config.lock",
      );
      expect(error?.message).toMatch(ENDED);
      expect(existsSync(at("conf/config.lock"))).toBe(false);
    },
  );

  test("a link that it puts on the way to what does not exist is moved aside", MINUTE, async () => {
    guard([{ path: at("state/deep/policy.yaml"), access: "read" }]);
    const { error } = await during(
      () => {},
      "mkdir -p project/deep && echo BAD > project/deep/policy.yaml; ln -s project state; sleep 60",
    );
    expect(error?.message).toMatch(ENDED);
    expect(existsSync(at("state"))).toBe(false);
    // A directory of the name does no harm, and a link that was there is the user's own.
    const made = await during(() => {}, "mkdir state && echo mine > state/mine");
    expect(made.error).toBe(undefined);
    expect(readFileSync(at("state/mine"), "utf8")).toBe("mine\n");
    rmSync(at("state"), { recursive: true });
    writeFileSync(at("state"), "a file");
    expect((await during(() => {}, "true")).error).toBe(undefined);
    expect(readFileSync(at("state"), "utf8")).toBe("a file");
  });

  test("the directories on the way to what does not exist cannot be moved away", MINUTE, async () => {
    mkdirSync(at("state/deep"), { recursive: true });
    guard([{ path: at("state/deep/policy.yaml"), access: "read" }]);
    const { output } = await during(
      () => {},
      "(mv state other || mv state/deep other || rm -r state || mkdir y && mv -T y state) 2>&1 | wc -l",
    );
    expect(output).toBe("4\n");
    expect(existsSync(at("state/deep"))).toBe(true);
    rmSync(at("state"), { recursive: true });
    mkdirSync(at("elsewhere"));
    symlinkSync("elsewhere", at("state"));
    const program = { command: "true", args: () => [] };
    const capabilities = { fs: [{ directory: folder, write: true }] };
    expect((await runProgram(sandboxes, { program, capabilities })).error?.code).toBe("sandbox_unavailable");
  });

  test("none that was prepared before a file was replaced is used", MINUTE, async () => {
    const call = {
      program: { command: "sh", args: () => ["-c", "cat conf/token 2>&1 || true"], output: "text" as const },
      capabilities: { fs: [{ directory: folder, at: "/workspace", write: true }] },
    };
    for (const contents of ["ONE", "TWO", "THREE"]) {
      expect((await runProgram(sandboxes, call)).output).not.toMatch(/ONE|TWO|THREE|OWN/);
      await new Promise((resolve) => setTimeout(resolve, 50));
      replace("conf/token", contents);
    }
  });

  test("a shell of a session is ended, and the next command starts another one", MINUTE, async () => {
    const scene = await ShellScene.open({ isolation: "namespaces" });
    onTestFinished(() => scene[Symbol.asyncDispose]());
    const token = join(scene.workspace, "token");
    writeFileSync(token, "OWN");
    guard([{ path: token }]);
    expect(await scene.stdout("cat token 2>&1; x=1")).toMatch(/denied|No such/);
    writeFileSync(join(tree.outside, "new"), "NEW");
    renameSync(join(tree.outside, "new"), token);
    expect(await scene.stdout('cat token 2>&1; echo "[$x]"')).toMatch(/(denied|No such).*\n\[\]/);
    const running = scene.run("touch started; sleep 60; cat token");
    await vi.waitFor(() => expect(existsSync(join(scene.workspace, "started"))).toBe(true), {
      timeout: 20_000,
    });
    writeFileSync(join(tree.outside, "new"), "NEW");
    renameSync(join(tree.outside, "new"), token);
    expect((await running).error?.message).toMatch(ENDED);
    expect(await scene.stdout("echo again")).toBe("again\n");
  });
});

describe.each(ISOLATIONS)("A program that stays (%s)", async (isolation) => {
  const sandboxes = await openSandboxes({ process: { isolation } });
  afterAll(() => sandboxes.close());
  const start = (grant: FsGrant, script = "cat") =>
    sandboxes.startConfinedProgram({ command: "sh", args: ["-c", script], fs: [grant] });

  test("is not granted for writing a directory with one of Sandgate's own files", MINUTE, async () => {
    for (const path of ["", "conf"])
      await expect(start({ directory: at(path), at: at(path), write: true }), path).rejects.toThrow(
        /has one of Sandgate's own files, '(conf\/)?(config.yaml|token)'/,
      );
    rmSync(at("conf"), { recursive: true });
    await expect(start({ directory: folder, at: folder, write: true })).rejects.toThrow(
      /Sandgate(?: itself|'s own files)/,
    );
  });

  test("is ended when a key appears or is replaced in what it can read", MINUTE, async () => {
    if (isolation === "landlock") rmSync(at("conf/token"));
    for (const path of isolation === "landlock" ? ["conf/token"] : ["conf/token", "conf/keys/later.key"]) {
      const program = await start({ directory: folder, at: folder });
      for (const stream of [program.stdout, program.stderr]) stream.resume();
      await program.pid;
      replace(path, "NEW");
      expect((await program.ended).problem).toMatch(ENDED);
    }
  });

  test("can read a config in its own folder, and sees a new one", MINUTE, async () => {
    mkdirSync(at("agent"));
    writeFileSync(at("agent/config.yaml"), "OWN");
    guard([{ path: at("agent/config.yaml"), access: "read" }]);
    const program = await start(
      { directory: at("agent"), at: at("agent") },
      "cat config.yaml; read line; cat config.yaml; echo BAD > config.yaml",
    );
    program.stderr.resume();
    const output = text(program.stdout);
    await program.pid;
    replace("agent/config.yaml", "NEW");
    program.stdin.end("go\n");
    expect(await output).toMatch(/^(OWN|NEW)NEW$/);
    await program.ended;
    expect(readFileSync(at("agent/config.yaml"), "utf8")).toBe("NEW");
  });

  test("is ended when a file in its grant is guarded, and says why", MINUTE, async () => {
    const warnings: string[] = [];
    replace("project/b.txt", "OWN");
    for (const grant of [
      { file: at("project/a.txt"), at: at("project/a.txt"), write: true },
      { directory: at("project"), at: at("project") },
    ]) {
      const program = await sandboxes.startConfinedProgram({
        command: "cat",
        fs: [grant],
        warn: (warning: string) => void warnings.push(warning),
      });
      for (const stream of [program.stdout, program.stderr]) stream.resume();
      await program.pid;
      guard(["file" in grant ? { path: grant.file, access: "read" } : { path: at("project/b.txt") }]);
      expect((await program.ended).problem).toMatch(ENDED);
    }
    expect(warnings.filter((warning) => ENDED.test(warning))).toHaveLength(2);
  });
});

const root = process.getuid?.() === 0;
if (!root) console.warn("Sandgate's own files below /usr are not tested: only root can make them");

test.skipIf(!root)("One of Sandgate's own files below /usr cannot be read by a program", MINUTE, async () => {
  const place = mkdtempSync("/usr/local/etc/sandgate-test-");
  onTestFinished(() => rmSync(place, { recursive: true }));
  mkdirSync(join(place, "keys"));
  for (const name of ["token", "keys/a", "readable"]) writeFileSync(join(place, name), name);
  const opened = await Promise.all(
    ISOLATIONS.map(async (isolation) => ({
      isolation,
      sandboxes: await openSandboxes({ process: { isolation } }),
    })),
  );
  onTestFinished(async () => void (await Promise.all(opened.map(({ sandboxes }) => sandboxes.close()))));
  const look = (sandboxes: Sandboxes) =>
    runProgram(sandboxes, {
      program: {
        command: "sh",
        args: () => ["-c", 'cat "$1/readable" "$1/token" "$1/keys/a" 2>/dev/null || :', "sh", place],
        output: "text",
      },
    });
  for (const { sandboxes } of opened) expect((await look(sandboxes)).output).toBe("readabletokenkeys/a");
  guard([
    { path: join(place, "token") },
    { path: join(place, "keys"), isFolder: true },
    { path: join(place, "readable"), access: "read" },
  ]);
  for (const { isolation, sandboxes } of opened) {
    const { output, error } = await look(sandboxes);
    if (isolation === "namespaces") expect(output).toBe("readable");
    else expect(error?.code).toBe("permission_denied");
    if (isolation === "landlock")
      await expect(sandboxes.startConfinedProgram({ command: "true" })).rejects.toThrow(
        /of Sandgate(?: itself|'s own files)/,
      );
  }
});
