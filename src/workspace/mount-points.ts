import { readFileSync } from "node:fs";

interface MountPoint {
  readonly device: string;
  /** The path in the file system that is mounted at {@link at}. */
  readonly root: string;
  readonly at: string;
}

/** The mounts of this process, by which a file can have several paths: proc_pid_mountinfo(5). */
export class MountPoints {
  readonly #mounts: readonly MountPoint[];

  /** @param text The text of `mountinfo`. Default: that of this process. */
  constructor(text: string = readMounts()) {
    this.#mounts = text.split("\n").flatMap((line): readonly MountPoint[] => {
      const [, , device, root, at] = line.split(" ");
      return device === undefined || root === undefined || at === undefined
        ? []
        : [{ device, root: unescaped(root), at: unescaped(at) }];
    });
  }

  /**
   * Returns the other paths of the entry at a path, or of a part of it.
   *
   * @param path An absolute path without links. Need not exist.
   */
  aliasesOf(path: string): readonly string[] {
    // Of two mounts at one place, the later one is visible.
    const own = this.#mounts.reduce<MountPoint | undefined>(
      (best, mount) =>
        below(path, mount.at) !== undefined && mount.at.length >= (best?.at.length ?? 0) ? mount : best,
      undefined,
    );
    if (own === undefined) return [];
    const inside = join(own.root, below(path, own.at) ?? "");
    const aliases = this.#mounts.flatMap(({ device, root, at }) => {
      if (device !== own.device) return [];
      const rest = below(inside, root);
      if (rest !== undefined) return [join(at, rest)];
      // A part of a folder is mounted elsewhere.
      return below(root, inside) === undefined ? [] : [at];
    });
    return [...new Set(aliases)].filter((alias) => alias !== path);
  }
}

function readMounts(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}

function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/**
 * Returns a path relative to a directory that contains it, `""` for the directory itself; `undefined` if it
 * is outside.
 */
function below(path: string, directory: string): string | undefined {
  if (path === directory) return "";
  const start = directory === "/" ? "/" : `${directory}/`;
  return path.startsWith(start) ? path.slice(start.length) : undefined;
}

function join(directory: string, rest: string): string {
  if (rest === "") return directory;
  return directory === "/" ? `/${rest}` : `${directory}/${rest}`;
}
