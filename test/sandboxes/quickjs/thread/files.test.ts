import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ToolExecution } from "../../../../src/engine/call/execution.ts";
import type { DirectoryGrant } from "../../../../src/policy/grant/fs-grant.ts";
import { openSandboxes } from "../../../../src/sandboxes/open-sandboxes.ts";
import { workspaceIsSupported } from "../../../../src/workspace/paths.ts";
import { echo, serve } from "../../../egress/servers.ts";
import { GrantedTree } from "../../../workspace/granted-tree.ts";
import { type CallSetting, GrantedTool } from "../granted-tool.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });
afterAll(() => sandboxes.close());

let tree: GrantedTree;
beforeEach(() => {
  tree = new GrantedTree();
  onTestFinished(() => tree[Symbol.dispose]());
});

/** Grants the tree's root at `/data`. */
function data(grant: Partial<DirectoryGrant> = { write: true }): CallSetting {
  return { capabilities: { fs: [{ directory: tree.root, at: "/data", ...grant }] } };
}

/** Runs a tool whose function has this body. `attempt` returns a function's result, or the code of its error. */
function run(body: string, setting: CallSetting = data()): Promise<ToolExecution> {
  const source = `
    const attempt = (act) => { try { return act() ?? "done"; } catch ({ name, code }) { return name + " " + code; } };
    export default async (input, { fs, tools, signal, log }) => { ${body} }`;
  return new GrantedTool(sandboxes, source).call(setting);
}

describe.skipIf(!workspaceIsSupported())("fs in QuickJS", () => {
  test("fs works only in calls whose grant gives files, also of the same tool", async () => {
    const tool = new GrantedTool(
      sandboxes,
      `let kept;
      export default (input, context) => {
        const had = kept;
        kept = "kept";
        try { return [had, context.fs.readFile("/data/ok.txt")]; } catch ({ code, message }) { return [code, message]; }
      }`,
    );
    for (let round = 0; round < 2; round++) {
      const without = await tool.call();
      expect(without.output).toEqual([
        "not-permitted",
        "fs: this call may not use files (capabilities.fs is not granted)",
      ]);
      expect((await tool.call(data())).output).toEqual([null, "OK"]);
    }
    const other = { capabilities: { fs: [{ directory: tree.outside, at: "/data" }] } };
    expect((await tool.call(other)).output).toEqual([
      "no-entry",
      "readFile '/data/ok.txt': no such file or directory",
    ]);
  });

  test("fs reads and writes bytes as they are", async () => {
    const { output, receipt } = await run(`
      const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      fs.writeFile("/data/bytes", bytes.subarray(128));
      fs.appendFile("/data/bytes", bytes.buffer);
      fs.writeFile("/data/empty", new Uint8Array(0));
      const read = fs.readFile("/data/bytes", "bytes");
      const codes = [];
      try { fs.readFile("/data/bytes"); } catch ({ code }) { codes.push(code); }
      try { fs.writeFile("/data/bytes", { a: 1 }); } catch ({ name }) { codes.push(name); }
      const empty = fs.readFile("/data/empty", "bytes").length;
      fs.rm("/data/bytes");
      fs.rm("/data/empty");
      return [read.length, read[0], read[127], read[128], read[383], empty, codes];
    `);
    expect(output).toEqual([384, 128, 255, 0, 255, 0, ["illegal-byte-sequence", "TypeError"]]);
    expect(receipt.used.fileBytes).toBe(384);
  });

  test("fs reads, writes, lists, describes, renames and removes files", async () => {
    const { output, receipt } = await run(`
      fs.mkdir("/data/new");
      fs.writeFile("/data/new/a.txt", "grüße");
      fs.appendFile("/data/new/a.txt", " 🦊");
      fs.appendFile("/data/new/b.txt", "b");
      const text = fs.readFile("/data/new/a.txt");
      fs.writeFile("/data/new/a.txt", "short");
      fs.rename("/data/new/b.txt", "/data/c.txt");
      const stat = fs.stat("/data/new/a.txt");
      const listed = [fs.readdir("/data"), fs.readdir("/data/new/")];
      fs.rm("/data/ok.txt");
      fs.rm("/data/c.txt");
      fs.mkdir("/data/empty");
      fs.rm("/data/empty");
      return { text, short: fs.readFile("/data/new/a.txt"), stat, directory: fs.stat("/data").kind, listed };`);
    expect(output).toMatchObject({
      text: "grüße 🦊",
      short: "short",
      directory: "directory",
      stat: { kind: "file", size: 5, modifiedMs: expect.any(Number) },
      listed: [["a", "c.txt", "new", "ok.txt"], ["a.txt"]],
    });
    expect(readdirSync(tree.root).sort()).toEqual(["a", "new"]);
    expect(readFileSync(join(tree.root, "new/a.txt"), "utf8")).toBe("short");
    expect(receipt.used.fileBytes).toBe(7 + 5 + 1 + 5);
    tree.expectUntouchedOutside();
  });

  test("fs shows each granted directory at its path, and moves files between them", async () => {
    mkdirSync(join(tree.base, "root/out"));
    const fs = [
      { directory: tree.root, at: "/" },
      { directory: join(tree.root, "out"), at: "/out", write: true },
      { directory: join(tree.root, "a"), at: "/deep/er", write: true },
    ];
    const { output } = await run(
      `fs.writeFile("/out/x.txt", fs.readFile("/ok.txt"));
      fs.rename("/out/x.txt", "/deep/er/x.txt");
      return [
        fs.readdir("/"), fs.readdir("/out"), fs.readdir("/deep/er"),
        attempt(() => fs.writeFile("/y.txt", "")), attempt(() => fs.readdir("/deep")),
      ];`,
      { capabilities: { fs } },
    );
    expect(output).toEqual([
      ["a", "ok.txt", "out"],
      [],
      ["b", "in.txt", "x.txt"],
      "FsError read-only",
      "FsError no-entry",
    ]);
  });

  test("fs reaches a granted file at the path that it was given, and nothing beside it", async () => {
    const fs = [{ file: join(tree.root, "a/in.txt"), within: tree.root, at: "/a/in.txt", write: true }];
    const { output, receipt } = await run(
      `return [
        fs.readFile("a/in.txt"), attempt(() => fs.writeFile("/a/in.txt", "NEW")), fs.readFile("/a/in.txt"),
        fs.stat("a/in.txt").kind,
        ...["/ok.txt", "/a/b", "/a/../ok.txt", "/a/x"].map((path) => attempt(() => fs.readFile(path))),
        ...["/a", "/", "/a/in.txt"].map((path) => attempt(() => fs.readdir(path))),
        attempt(() => fs.rm("/a/in.txt")), attempt(() => fs.rename("/a/in.txt", "/a/x")), attempt(() => fs.mkdir("/a/n")),
      ];`,
      { capabilities: { fs } },
    );
    expect(output).toEqual([
      "IN",
      "done",
      "NEW",
      "file",
      ...Array(4).fill("FsError not-permitted"),
      "FsError not-permitted",
      "FsError not-permitted",
      "FsError not-directory",
      ...Array(3).fill("FsError not-permitted"),
    ]);
    expect(receipt.used.fileBytes).toBe(3);
    expect(readFileSync(join(tree.root, "a/in.txt"), "utf8")).toBe("NEW");
    expect(readdirSync(join(tree.root, "a")).sort()).toEqual(["b", "in.txt"]);
  });

  test("fs changes nothing in a read-only directory", async () => {
    const attempts = `return [
      attempt(() => fs.writeFile("/data/ok.txt", "x")), attempt(() => fs.appendFile("/data/ok.txt", "x")),
      attempt(() => fs.writeFile("/data/new.txt", "x")), attempt(() => fs.mkdir("/data/new")),
      attempt(() => fs.rm("/data/ok.txt")), attempt(() => fs.rm("/data/a/b")),
      attempt(() => fs.rename("/data/ok.txt", "/data/x.txt")),
    ]`;
    const { output } = await run(attempts, data({}));
    expect(output).toEqual(Array(7).fill("FsError read-only"));
    expect((await run("return fs.readFile('/data/ok.txt')", data({}))).output).toBe("OK");
    // The same attempts succeed if writing is granted.
    expect((await run(attempts)).output).toEqual([...Array(6).fill("done"), "FsError no-entry"]);
  });

  test("fs reaches nothing outside the granted directories", async () => {
    symlinkSync(join(tree.outside, "secret.txt"), join(tree.root, "absolute"));
    symlinkSync("../outside/secret.txt", join(tree.root, "relative"));
    symlinkSync("../outside", join(tree.root, "directory"));
    symlinkSync("ok.txt", join(tree.root, "inside"));
    const paths = [
      "/data/../outside/secret.txt",
      "/data/a/../../outside/secret.txt",
      "/etc/passwd",
      "/",
      "/../etc/passwd",
      "/data/absolute",
      "/data/relative",
      "/data/directory/secret.txt",
      "/proc/self/environ",
      tree.outside,
      join(tree.outside, "secret.txt"),
      "/data/../data/ok.txt",
    ];
    const { output } = await run(
      `return input.paths.map((path) => [
        () => fs.readFile(path), () => fs.writeFile(path, "OVERWRITTEN"), () => fs.appendFile(path, "MORE"),
        () => fs.readdir(path), () => fs.rename("/data/ok.txt", path + "/../stolen"),
      ].map(attempt));`,
      { ...data(), input: { paths } },
    );
    for (const codes of output as string[][]) {
      // The last one is within the granted directory again where the path is a name in it.
      for (const code of codes.slice(0, 4)) expect(code).toMatch(/^FsError [a-z-]+$/);
    }
    expect(JSON.stringify(output)).not.toContain("CANARY");
    tree.expectUntouchedOutside();
    expect((await run("return fs.readFile('/data/inside')")).output).toBe("OK");
  });

  test.each<[string, string, string]>([
    ["a path that begins elsewhere than at '/'", "fs.readFile('./data/ok.txt')", "FsError not-permitted"],
    ["a missing file", "fs.readFile('/data/none')", "FsError no-entry"],
    ["a directory that is read", "fs.readFile('/data/a')", "FsError is-directory"],
    ["a file that is listed", "fs.readdir('/data/ok.txt')", "FsError not-directory"],
    ["a directory that exists", "fs.mkdir('/data/a')", "FsError exist"],
    ["a directory that is not empty", "fs.rm('/data/a')", "FsError not-empty"],
    ["a path with a NUL", "fs.readFile('/data/ok.txt\\0')", "FsError illegal-byte-sequence"],
    ["a path that is not a string", "fs.readFile({ toString: () => '/data/ok.txt' })", "TypeError undefined"],
    ["a content that is not a string", "fs.writeFile('/data/x', 1)", "TypeError undefined"],
    ["a missing content", "fs.writeFile('/data/x')", "TypeError undefined"],
  ])("fs throws a typed error for %s", async (_case, act, expected) => {
    expect((await run(`return attempt(() => ${act})`)).output).toBe(expected);
  });

  test("fs reads neither a file that is not text nor one that is too large", async () => {
    writeFileSync(join(tree.root, "bytes"), Buffer.from([0xff, 0xfe]));
    writeFileSync(join(tree.root, "large"), Buffer.alloc(8 * 2 ** 20 + 1, "x"));
    writeFileSync(join(tree.root, "larger-than-a-read"), Buffer.alloc(3 * 2 ** 20, "x"));
    const { output } = await run(`return [
      attempt(() => fs.readFile("/data/bytes")), attempt(() => fs.readFile("/data/large")),
      fs.readFile("/data/larger-than-a-read").length,
    ]`);
    expect(output).toEqual(["FsError illegal-byte-sequence", "FsError file-too-large", 3 * 2 ** 20]);
  });

  test("fs throws if the guest has no memory for a text, and the guest continues", async () => {
    writeFileSync(join(tree.root, "large"), Buffer.alloc(2e6, 1));
    const body = `
      const taken = new Uint8Array(9_500_000);
      const code = attempt(() => fs.readFile("/data/large").length);
      return [code, fs.readFile("/data/ok.txt")];`;
    const small = await run(body, { ...data(), limits: { memoryBytes: 2 ** 24 } });
    expect(small.output).toEqual(["FsError insufficient-memory", "OK"]);
    expect((await run(body)).output).toEqual([2e6, "OK"]);
  });

  test("fs writes at most its limit over all steps of a call, and truncates no file if it refuses", async () => {
    const port = await serve(echo);
    const setting: CallSetting = {
      capabilities: {
        ...data().capabilities,
        net: [{ origin: `http://127.0.0.1:${port}`, addresses: ["127.0.0.1/32"] }],
      },
      limits: { fileBytes: 10 },
      input: { url: `http://127.0.0.1:${port}` },
    };
    const { output, receipt } = await run(
      `const said = [];
      for (const text of ["1234", "5678", "90ab", "90"]) {
        said.push(attempt(() => fs.writeFile("/data/" + text, text)));
        await fetch(input.url);
        said.push(attempt(() => fs.writeFile("/data/ok.txt", "much too long")));
      }
      return [said, fs.readFile("/data/ok.txt")];`,
      setting,
    );
    const refused = "FsError insufficient-space";
    expect(output).toEqual([["done", refused, "done", refused, refused, refused, "done", refused], "OK"]);
    expect(receipt.used.fileBytes).toBe(10);
    expect(readdirSync(tree.root)).not.toContain("90ab");
    // The limit applies to each call.
    expect((await run("fs.writeFile('/data/x', '1234567890')", setting)).success).toBe(true);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "fs.writeFile keeps the old text if the disk is full (needs root, to mount one)",
    async () => {
      const disk = join(tree.base, "disk");
      mkdirSync(disk);
      expect(spawnSync("sh", ["-c", `mount -t tmpfs -o size=32k tmpfs "$0"`, disk]).status).toBe(0);
      try {
        writeFileSync(join(disk, "notes.txt"), "OLD");
        const { output } = await run(
          `return [attempt(() => fs.writeFile("/data/notes.txt", "x".repeat(65536))), fs.readFile("/data/notes.txt")];`,
          data({ directory: disk, write: true }),
        );
        expect(output).toEqual(["FsError insufficient-space", "OLD"]);
        expect(readdirSync(disk)).toEqual(["notes.txt"]);
      } finally {
        spawnSync("sh", ["-c", `umount "$0"`, disk]);
      }
    },
  );

  test("fs leaves no effect if it only reads, and an unknown one if it may have changed something", async () => {
    const effectOf = async (body: string, setting?: CallSetting): Promise<unknown> =>
      (await run(`${body}; throw new Error("late")`, setting)).error?.effect;
    expect(await effectOf("fs.readFile('/data/ok.txt'); fs.readdir('/data'); fs.stat('/data')")).toBe("none");
    expect(await effectOf("attempt(() => fs.writeFile('/data/ok.txt', 'x'))", data({}))).toBe("none");
    expect(await effectOf("fs.writeFile('/data/ok.txt', '')")).toBe("unknown");
    expect(await effectOf("fs.rm('/data/ok.txt')")).toBe("unknown");
    expect(await effectOf("fs.mkdir('/data/n'); await tools.call('none').catch(() => {})")).toBe("unknown");
  });

  test("a call whose thread was ended has an unknown effect if it could write files", async () => {
    const deaf = "[].reverse.call({ length: 2 ** 32 - 1 })";
    // With a thread that is ready, the program runs when its time ends, even on a busy machine.
    await run("return 1", data());
    const limits = { wallTimeMs: 500 };
    expect((await run(deaf, { ...data(), limits })).error).toMatchObject({
      code: "timeout",
      effect: "unknown",
    });
    expect((await run(deaf, { ...data({}), limits })).error).toMatchObject({
      code: "timeout",
      effect: "none",
    });
  });

  test("a call that uses fs all the time ends at its deadline", async () => {
    const { error } = await run("for (;;) attempt(() => fs.stat('/data/ok.txt'))", {
      ...data({}),
      limits: { wallTimeMs: 200 },
    });
    expect(error?.code).toBe("timeout");
  });

  test("a call does not run if a granted directory is missing or is reached through a link", async () => {
    symlinkSync(tree.outside, join(tree.base, "link"));
    for (const directory of [join(tree.base, "none"), join(tree.base, "link")]) {
      const { error } = await run("return 1", { capabilities: { fs: [{ directory, at: "/data" }] } });
      expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
      expect(error?.message).not.toContain(tree.base);
    }
    rmSync(join(tree.base, "link"));
  });

  test("fs reports that a granted directory was removed after the call began", async () => {
    const gone = join(tree.base, "gone");
    mkdirSync(gone);
    const port = await serve((_request, response) => {
      rmSync(gone, { recursive: true });
      response.end();
    });
    const net = [{ origin: `http://127.0.0.1:${port}`, addresses: ["127.0.0.1/32"] }];
    const { output } = await run(
      `const before = fs.readdir("/data");
      await fetch(input.url);
      try { return fs.readdir("/data"); } catch ({ code, message }) { return { before, code, message }; }`,
      {
        capabilities: { net, fs: [{ directory: gone, at: "/data" }] },
        input: { url: `http://127.0.0.1:${port}` },
      },
    );
    expect(output).toEqual({
      before: [],
      code: "io",
      message: "readdir '/data': a granted directory cannot be used now",
    });
  });

  test("fs reports errors of the system in its own words", async () => {
    chmodSync(join(tree.root, "ok.txt"), 0o000);
    const { output } = await run(
      "try { return fs.readFile('/data/ok.txt'); } catch ({ message }) { return message; }",
    );
    // root can read every file.
    const expected = process.getuid?.() === 0 ? "OK" : "readFile '/data/ok.txt': permission denied";
    expect(output).toBe(expected);
  });

  test("fs closes everything that it opened, call after call", async () => {
    const open = (): number => readdirSync("/proc/self/fd").length;
    await run("fs.writeFile('/data/x', fs.readFile('/data/ok.txt'))");
    const before = open();
    for (let call = 0; call < 20; call++) {
      await run(
        "attempt(() => fs.readFile('/data/none')); fs.readdir('/data'); fs.appendFile('/data/x', 'y');",
      );
    }
    expect(open()).toBeLessThanOrEqual(before);
  });
});
