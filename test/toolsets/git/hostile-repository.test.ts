import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { openRepository } from "./repository.ts";

const RUN = "touch pwned; cat";

describe.skipIf(unavailable)("The toolset git runs no program that a repository names", () => {
  test("as a filter whose name is not UTF-8", async () => {
    const { path, git, output } = await openRepository();
    const name = Buffer.from([0xff, 0xfe]);
    const section = ['[filter "', name, `"]\n\tclean = ${RUN}\n\tsmudge = ${RUN}\n`];
    for (const part of section) appendFileSync(path(".git/config"), part);
    writeFileSync(path(".gitattributes"), Buffer.concat([Buffer.from("*.txt filter="), name]));
    writeFileSync(path("a.txt"), "two\n");
    expect(await output("git_diff")).toContain("+two");
    await output("git_stage", { paths: ["a.txt"] });
    expect(existsSync(path("pwned"))).toBe(false);
    git("add", "--renormalize", "a.txt");
    expect(existsSync(path("pwned"))).toBe(true);
  });

  test.each([
    ["ext", "ext::sh -c touch% pwned"],
    ["file", "./.git"],
  ])("for the transport '%s', even if its configuration allows that", async (protocol, url) => {
    const { path, git, call } = await openRepository();
    git("remote", "add", "origin", url);
    git("config", `protocol.${protocol}.allow`, "always");
    for (const name of ["uploadpack", "receivepack"])
      git("config", `remote.origin.${name}`, "touch pwned; false");
    for (const name of ["git_pull", "git_push"])
      expect((await call(name)).error?.message).toContain(`transport '${protocol}' not allowed`);
    expect(existsSync(path("pwned"))).toBe(false);
    expect(() => git("fetch", "origin")).toThrow();
    expect(existsSync(path("pwned"))).toBe(true);
  });

  test("to get an object that a partial clone lacks", async () => {
    const { path, git, call } = await openRepository();
    const blob = git("rev-parse", "HEAD:a.txt").trim();
    writeFileSync(path("a.txt"), "two\n");
    git("commit", "--quiet", "--all", "--message=Second");
    git("remote", "add", "origin", "ext::sh -c touch% pwned");
    for (const [name, value] of Object.entries({
      "core.repositoryFormatVersion": "1",
      "extensions.partialClone": "origin",
      "remote.origin.promisor": "true",
      "remote.origin.partialCloneFilter": "blob:none",
      "protocol.ext.allow": "always",
    }))
      git("config", name, value);
    rmSync(path(`.git/objects/${blob.slice(0, 2)}/${blob.slice(2)}`));
    expect((await call("git_log", { patch: true })).error?.message).toContain("transport 'ext' not allowed");
    expect(existsSync(path("pwned"))).toBe(false);
    expect(() => git("log", "--patch")).toThrow();
    expect(existsSync(path("pwned"))).toBe(true);
  });

  test.each([
    ["openpgp", "PGP MESSAGE"],
    ["x509", "SIGNED MESSAGE"],
    ["ssh", "SSH SIGNATURE"],
  ])("to verify a signature of the format '%s'", async (format, kind) => {
    const { path, git, output, scene } = await openRepository();
    const signature = `gpgsig -----BEGIN ${kind}-----\n abc\n -----END ${kind}-----`;
    const id = execFileSync("git", ["hash-object", "-w", "-t", "commit", "--stdin"], {
      cwd: scene.workspace,
      input: git("cat-file", "commit", "HEAD").replace("\n\n", `\n${signature}\n\n`),
      encoding: "utf8",
    });
    git("update-ref", "refs/heads/main", id.trim());
    writeFileSync(path("run"), "#!/bin/sh\ntouch pwned\n");
    chmodSync(path("run"), 0o755);
    writeFileSync(path("signers"), "ada@example.org ssh-ed25519 AAAA\n");
    git("config", "gpg.ssh.allowedSignersFile", "signers");
    git("config", `gpg.${format}.program`, "./run");
    git("config", "format.pretty", "%G? %s");
    expect(await output("git_log")).toContain("First");
    expect(existsSync(path("pwned"))).toBe(false);
    git("log");
    expect(existsSync(path("pwned"))).toBe(true);
  });

  test("in the configuration of a submodule", async () => {
    const { path, git, output } = await openRepository();
    const inside = (...args: string[]): string => git("-C", "sub", ...args);
    git("init", "--quiet", "sub");
    writeFileSync(path("sub/b.txt"), "one\n");
    inside("add", "b.txt");
    inside("-c", "user.name=Eve", "-c", "user.email=eve@example.org", "commit", "--quiet", "--message=First");
    writeFileSync(path(".gitmodules"), '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n');
    git("add", "sub", ".gitmodules");
    git("commit", "--quiet", "--message=Second");
    inside("config", "core.fsmonitor", "touch ../pwned; false");
    inside("config", "filter.bad.clean", "touch ../pwned; cat");
    writeFileSync(path("sub/.gitattributes"), "*.txt filter=bad\n");
    writeFileSync(path("sub/b.txt"), "two\n");
    writeFileSync(path("a.txt"), "two\n");
    for (const [name, args] of [
      ["git_status", {}],
      ["git_diff", {}],
      ["git_log", { patch: true }],
      ["git_stage", { paths: ["."] }],
      ["git_stage", { paths: ["sub"] }],
      ["git_stage", { paths: ["."], unstage: true }],
      ["git_branch", { action: "create", name: "topic" }],
      ["git_branch", { action: "switch", name: "main" }],
      ["git_stash", { action: "push" }],
      ["git_stash", { action: "pop" }],
      ["git_commit", { message: "Third", all: true }],
    ] as const) {
      await output(name, args);
      expect(existsSync(path("pwned")), name).toBe(false);
    }
    expect(git("log", "--max-count=1", "--format=%s", "--name-only").trim()).toBe("Third\n\na.txt");
    git("status");
    expect(existsSync(path("pwned"))).toBe(true);
  });
});
