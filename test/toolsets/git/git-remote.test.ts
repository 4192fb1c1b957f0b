import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { SECURE_TEST } from "../../egress/servers.ts";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { ToolsetScene } from "../toolset-scene.ts";
import { type GitServer, serveRepository } from "./git-server.ts";

/** A repository that is served, and another one with one commit and the tools, which pushes to it. */
interface Clone {
  readonly server: GitServer;
  readonly git: (...args: string[]) => string;
  /** Returns the id of a new commit. */
  readonly commit: (name: string) => string;
  /** The id of the first commit. */
  readonly first: string;
  /** Returns the output of a call, or its message after `failed: `. */
  readonly call: (name: string, args?: JsonObject) => Promise<string>;
}

async function openClone(): Promise<Clone> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "git-remote-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const server = await serveRepository(folder);
  const net = [{ origin: server.origin, addresses: ["127.0.0.1/32"] }];
  const resolve = async (): Promise<string[]> => ["127.0.0.1"];
  const scene = await ToolsetScene.open("git", { net }, {}, { egress: { resolve } });
  onTestFinished(() => scene[Symbol.asyncDispose]());
  const path = (name: string): string => join(scene.workspace, name);
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: scene.workspace, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(path(".git/ca.pem"), SECURE_TEST.cert);
  for (const [name, value] of Object.entries({
    "user.name": "Ada",
    "user.email": "ada@example.org",
    "http.sslCAInfo": ".git/ca.pem",
    "remote.origin.url": server.url,
    "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
  }))
    git("config", name, value);
  const commit = (name: string): string => {
    writeFileSync(path("a.txt"), `${name}\n`);
    git("add", "a.txt");
    git("commit", "--quiet", `--message=${name}`);
    return git("rev-parse", "HEAD").trim();
  };
  const first = commit("First");
  const call = async (name: string, args: JsonObject = {}): Promise<string> => {
    const { output, error } = await scene.call(name, args);
    return error === undefined ? String(output) : `failed: ${error.message}`;
  };
  return { server, git, commit, first, call };
}

describe.skipIf(unavailable)("The toolset git, with a remote repository,", () => {
  test("pushes the current branch and a named one, and pulls what others pushed", async () => {
    const { server, git, commit, first, call } = await openClone();
    expect(await call("git_push")).toContain("[new branch]");
    git("branch", "topic");
    expect(await call("git_push", { branch: "topic" })).toContain("topic -> topic");
    const second = commit("Second");
    await call("git_push", { branch: "main" });
    expect(server.git("rev-parse", "main", "topic").trim()).toBe(`${second}\n${first}`);
    git("reset", "--quiet", "--hard", first);
    expect(await call("git_pull")).toContain("Fast-forward");
    expect(git("rev-parse", "HEAD", "origin/main").trim()).toBe(`${second}\n${second}`);
  });

  test("overwrites nothing when it pushes, whatever the repository's refspecs say", async () => {
    const { server, git, commit, first, call } = await openClone();
    await call("git_push");
    commit("Second");
    await call("git_push");
    const there = server.git("rev-parse", "main");
    git("reset", "--quiet", "--hard", first);
    commit("Other");
    git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*");
    git("config", "--add", "remote.origin.push", "+HEAD:refs/heads/main");
    for (const args of [{}, { branch: "main" }]) expect(await call("git_push", args)).toContain("[rejected]");
    expect(server.git("rev-parse", "main")).toBe(there);
    git("config", "--unset-all", "remote.origin.push");
    git("config", "remote.origin.push", "refs/heads/*:refs/heads/elsewhere/*");
    await call("git_push", { branch: "main" });
    expect(server.git("branch", "--list", "elsewhere/*")).toBe("");
    git("config", "remote.origin.mirror", "true");
    expect(await call("git_push")).toMatch(/^failed: /);
    expect(server.git("rev-parse", "main")).toBe(there);
    expect(await call("git_push", { branch: "none" })).toContain("There is no branch 'none' to push");
  });

  test("loses no commit when it pulls, whatever the repository's refspecs say", async () => {
    const { git, commit, first, call } = await openClone();
    commit("Second");
    await call("git_push");
    git("reset", "--quiet", "--hard", first);
    const own = commit("Own");
    git("branch", "topic");
    git("config", "remote.origin.fetch", "+refs/heads/*:refs/heads/*");
    git("config", "--add", "remote.origin.fetch", "+refs/heads/main:refs/heads/topic");
    git("config", "fetch.prune", "true");
    git("config", "pull.rebase", "true");
    expect(await call("git_pull", { branch: "main" })).toMatch(/^failed: .*[Nn]ot possible to fast-forward/s);
    expect(git("rev-parse", "main", "topic").trim()).toBe(`${own}\n${own}`);
  });

  test("sends the granted credentials to no server whose certificate it cannot check", async () => {
    const { server, git, call } = await openClone();
    git("config", "--unset", "http.sslCAInfo");
    git("config", `http.${server.origin}/.sslVerify`, "false");
    expect(await call("git_push")).toContain("certificate");
    expect(server.authorizations.size).toBe(0);
  });
});
