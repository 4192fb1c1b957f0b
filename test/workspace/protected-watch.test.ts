import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findProtected } from "../../src/workspace/find-protected.ts";
import { workspaceIsSupported } from "../../src/workspace/paths.ts";
import { type MadePlaces, ProtectedWatch } from "../../src/workspace/protected-watch.ts";

let root: string;
const at = (path: string): string => join(root, path);

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "protected-watch-")));
  onTestFinished(() => rmSync(root, { recursive: true }));
});

function make(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), path);
  }
}

/** Makes 1,300 directories, and 252 whose names are those of beginnings of places, in other cases. */
function makeMany(): void {
  for (let index = 0; index < 1_300; index++) mkdirSync(at(`d${index}`));
  for (const name of ["config", "github", "gitlab", "gradle"])
    for (let bits = 1; bits < 2 ** name.length; bits++)
      mkdirSync(
        at(`.${[...name].map((char, place) => (bits & (1 << place) ? char.toUpperCase() : char)).join("")}`),
      );
}

/**
 * Watches the directory while something is done in it, a while after what is there was made.
 *
 * @param aheadMs How much the clock of this machine is ahead of that of the files.
 */
async function during(act: () => void, aheadMs = 0): Promise<MadePlaces> {
  await sleep(50);
  const fd = openSync(root, "r");
  onTestFinished(() => closeSync(fd));
  const grant = { named: root.split("/").filter((name) => name !== "") };
  const found = await findProtected(fd, grant);
  for (const place of found.places) closeSync(place.fd);
  const watch = new ProtectedWatch(fd, grant, { ...found, since: found.since + aheadMs }, {});
  act();
  return watch.moveAside();
}

const pathsOf = ({ places }: MadePlaces): readonly string[] => places.map(({ path }) => path).sort();

describe.skipIf(!workspaceIsSupported())("What appears in a protected place is moved aside", () => {
  test.each([
    ["gh", ".github", "workflows/ci.yml", ".github/workflows"],
    ["home", ".local", "bin/ls", ".local/bin"],
    ["share", ".local/share", "applications/a.desktop", ".local/share/applications"],
    ["tools2", "tools", "bazel", "tools/bazel"],
    ["repository", "lib/.git", "hooks/pre-commit", "lib/.git"],
  ])("if it was made earlier in '%s', which is renamed to '%s'", async (from, to, path, place) => {
    make(`${from}/${path}`);
    mkdirSync(dirname(at(to)), { recursive: true });
    const made = await during(() => renameSync(at(from), at(to)));
    expect(pathsOf(made)).toEqual([place]);
    expect(existsSync(at(`${to}/${path}`))).toBe(false);
  });

  test.each([
    ["objects/a"],
    ["refs/a"],
    ["HEAD"],
  ])("if it was made earlier in a folder that becomes a repository by '%s'", async (last) => {
    const names = ["objects/a", "refs/a", "HEAD", "config", "hooks/post-checkout"];
    make(...names.filter((name) => name !== last).map((name) => `lib/${name}`));
    const made = await during(() => make(`lib/${last}`));
    expect(pathsOf(made)).toEqual(["lib/HEAD", "lib/config", "lib/hooks"]);
  });

  test("if a folder names another one as the repository that it belongs to", async () => {
    make("common/objects/a", "common/refs/a", "common/config", "work/HEAD");
    const made = await during(() => make("work/commondir"));
    expect(pathsOf(made)).toEqual(["work/HEAD", "work/commondir"]);
  });

  test("on a file system whose clock is behind", async () => {
    make(".github/workflows/ci.yml");
    const made = await during(() => make(".envrc", "gh/.vscode/tasks.json"), 60_000);
    expect(pathsOf(made)).toEqual([".envrc", "gh/.vscode"]);
  });

  test("all of it, however much it is", async () => {
    const files = Array.from({ length: 300 }, (_, index) => `a${index}/.envrc`);
    const { places, isComplete } = await during(() => make(...files, "zz/.vscode/tasks.json"));
    expect([places.length, isComplete]).toEqual([301, true]);
    expect(existsSync(at("zz/.vscode"))).toBe(false);
  });

  test("however many directories are beside it", async () => {
    mkdirSync(at("app/deep"), { recursive: true });
    await sleep(50);
    makeMany();
    const files = [".envrc", ".git/hooks/pre-commit", ".github/workflows/ci.yml", "app/deep/.npmrc"];
    const made = await during(() => make(...files));
    expect(pathsOf(made)).toEqual([".envrc", ".git", ".github/workflows", "app/deep/.npmrc"]);
  });

  test("even if another program has taken the folder to which it would be moved", async () => {
    for (const take of [
      () => writeFileSync(at(".sandgate"), ""),
      () => symlinkSync("/tmp", at(".sandgate")),
      () => make(".sandgate/moved-aside"),
    ]) {
      rmSync(at(".sandgate"), { recursive: true, force: true });
      take();
      const made = await during(() => make("sub/.envrc"));
      expect(pathsOf(made)).toEqual(["sub/.envrc"]);
      expect(made.places[0]?.movedTo).toMatch(/^\.sandgate-aside-[0-9a-f]{16}$/);
      expect(existsSync(at("sub/.envrc"))).toBe(false);
    }
  });
});

test.skipIf(!workspaceIsSupported())(
  "What is there is found, however many directories are beside it",
  async () => {
    make("app/deep/.vscode/tasks.json");
    await sleep(50);
    makeMany();
    make(".git/hooks/pre-commit", ".git/config", ".envrc");
    const fd = openSync(root, "r");
    onTestFinished(() => closeSync(fd));
    const { places, isComplete } = await findProtected(fd, { named: [] });
    for (const place of places) closeSync(place.fd);
    expect(isComplete).toBe(false);
    expect(places.map(({ path }) => path)).toEqual(
      expect.arrayContaining([".git", ".git/config", ".git/hooks", ".envrc", "app/deep/.vscode"]),
    );
  },
);

describe.skipIf(!workspaceIsSupported())("Nothing is moved aside", () => {
  test("that was there before, whatever is done beside it", async () => {
    make(
      ".github/workflows/ci.yml",
      ".local/share/applications/a",
      "lib/.git/config",
      "bare/HEAD",
      "bare/config",
    );
    make("bare/objects/a", "bare/refs/a");
    const made = await during(() => {
      make(
        ".github/CODEOWNERS",
        ".local/share/notes.txt",
        "lib/.git/index",
        "bare/objects/b",
        "bare/packed-refs",
      );
    });
    expect(pathsOf(made)).toEqual([]);
  });

  test("that is only the beginning of such places", async () => {
    expect(pathsOf(await during(() => make(".github/CODEOWNERS", "lib/.git/index", "tools/a")))).toEqual([]);
  });
});
